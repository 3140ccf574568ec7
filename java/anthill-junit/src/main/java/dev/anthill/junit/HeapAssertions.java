package dev.anthill.junit;

import dev.anthill.GcAssertionError;
import dev.anthill.GcAssertions;
import dev.anthill.Violation;
import dev.anthill.internal.Region;
import dev.anthill.internal.Scope;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import org.junit.jupiter.api.function.Executable;

/**
 * Assertions about the heap that are checked at once: a test method asks for this as a parameter. Each collects garbage, looks at
 * a state of the whole heap, and fails the test with the path by which something is reached.
 *
 * <pre>{@code
 * @Test
 * @LeakCheck
 * void closedSessionsDie(HeapAssertions heap) {
 *     Session session = store.open("anna");
 *     store.close(session);
 *     heap.assertDead(session);
 *     heap.assertNoGrowth(() -> store.close(store.open("bea")));
 * }
 * }</pre>
 *
 * <p>Tests that run at the same time are checked one after the other.
 */
public final class HeapAssertions {
    private static final int REPEAT = 20;
    /** Dumps and the work on them are for one test at a time. */
    private static final ReentrantLock ONE_AT_A_TIME = new ReentrantLock(true);

    private final Agent agent;

    HeapAssertions(Agent agent) {
        this.agent = agent;
    }

    /**
     * Fails if the object is reachable through strong or soft references. Local variables of the calling method that name the
     * object are forgiven: there is no need to set them to null.
     */
    public void assertDead(Object object) {
        Object[] named = {object};
        object = null;
        failOn(Scope.dead(named, null));
    }

    /** Like {@link #assertDead(Object)}, with words that the failure repeats. */
    public void assertDead(Object object, String message) {
        // If nobody else has it, the collector alone can tell, as long as this variable has not.
        Object[] named = {object};
        object = null;
        failOn(Scope.dead(named, message));
    }

    /** Fails if there are more than {@code max} reachable instances of the type and its subtypes. */
    public void assertInstances(Class<?> type, int max) {
        assertInstances(type, max, null);
    }

    /** Like {@link #assertInstances(Class, int)}, with words that the failure repeats. */
    public void assertInstances(Class<?> type, int max, String message) {
        failOn(Scope.instances(type, max, true, message));
    }

    /** Fails if there is more than one reference to the object; local variables do not count. */
    public void assertUnshared(Object object) {
        assertUnshared(object, null);
    }

    /** Like {@link #assertUnshared(Object)}, with words that the failure repeats. */
    public void assertUnshared(Object object, String message) {
        failOn(Scope.unshared(object, message));
    }

    /**
     * Fails if the ownee is reachable, but not from its owner. Local variables of the calling method that name the ownee are
     * forgiven.
     */
    public void assertOwnedBy(Object owner, Object ownee) {
        assertOwnedBy(owner, ownee, null);
    }

    /** Like {@link #assertOwnedBy(Object, Object)}, with words that the failure repeats. */
    public void assertOwnedBy(Object owner, Object ownee, String message) {
        failOn(Scope.ownedBy(owner, ownee, message));
    }

    /**
     * Runs something and fails if anything survives that this thread allocates meanwhile. What is loaded, linked or cached the
     * first time survives: run it once before.
     */
    public void assertAllDead(Executable region) {
        assertAllDead(region, null);
    }

    /** Like {@link #assertAllDead(Executable)}, with words that the failure repeats. */
    public void assertAllDead(Executable region, String message) {
        GcAssertions.startRegion();
        try {
            region.execute();
        } catch (Throwable e) {
            Scope.endRegion(message);
            throw unchecked(e);
        }
        Region ended = Scope.endRegion(message);
        failOn(Scope.survivors(ended));
    }

    /** Like {@link #assertNoGrowth(Executable, int)}, with 20 runs. */
    public void assertNoGrowth(Executable run) {
        assertNoGrowth(run, REPEAT);
    }

    /**
     * Runs something again and again, and fails if a data structure grows with every run; the failure names it and says what is new in
     * it. Where the newcomers are in no data structure that is known, it names their class and the paths to it.
     *
     * <p>Something grows if it got larger between the beginning and the middle and again between the middle and the end: by an element
     * in every second run, or an instance in every run. A cache grows until it is full: fill it before.
     *
     * @param repeat how often, at least 4; two runs before that are not counted
     */
    public void assertNoGrowth(Executable run, int repeat) {
        if (repeat < 4) {
            throw new IllegalArgumentException("growth takes 4 runs at least to be seen, not " + repeat);
        }
        ONE_AT_A_TIME.lock();
        try (Growth growth = new Growth(agent.program())) {
            String found = growth.of(run, repeat);
            if (found != null) {
                throw new AssertionError(found);
            }
        } catch (Throwable e) {
            throw unchecked(e);
        } finally {
            ONE_AT_A_TIME.unlock();
        }
    }

    static void failOn(List<Violation> violations) {
        if (!violations.isEmpty()) {
            throw new GcAssertionError(violations);
        }
    }

    /** Whatever it is, as it is: a test says what it throws, and these methods are called everywhere. */
    @SuppressWarnings("unchecked")
    private static <T extends Throwable> RuntimeException unchecked(Throwable thrown) throws T {
        throw (T) thrown;
    }
}
