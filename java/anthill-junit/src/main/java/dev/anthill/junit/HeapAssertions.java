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
 * Assertions about the heap that are checked immediately. A test method declares a parameter of this type. Each call collects
 * garbage, analyzes the whole heap, and fails the test with the path to the object.
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
 * <p>Checks of concurrent tests run one after the other.
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
     * Fails if the object is reachable through strong or soft references. Local variables of the calling method do not count, so there
     * is no need to set them to null.
     */
    public void assertDead(Object object) {
        Object[] named = {object};
        object = null;
        failOn(Scope.dead(named, null));
    }

    /** Like {@link #assertDead(Object)}, with a message for the failure. */
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

    /** Like {@link #assertInstances(Class, int)}, with a message for the failure. */
    public void assertInstances(Class<?> type, int max, String message) {
        failOn(Scope.instances(type, max, true, message));
    }

    /** Fails if there is more than one reference to the object; local variables do not count. */
    public void assertUnshared(Object object) {
        assertUnshared(object, null);
    }

    /** Like {@link #assertUnshared(Object)}, with a message for the failure. */
    public void assertUnshared(Object object, String message) {
        failOn(Scope.unshared(object, message));
    }

    /**
     * Fails if the ownee is reachable, but not from its owner. Local variables of the calling method do not count.
     */
    public void assertOwnedBy(Object owner, Object ownee) {
        assertOwnedBy(owner, ownee, null);
    }

    /** Like {@link #assertOwnedBy(Object, Object)}, with a message for the failure. */
    public void assertOwnedBy(Object owner, Object ownee, String message) {
        failOn(Scope.ownedBy(owner, ownee, message));
    }

    /**
     * Runs the code and fails if any object survives that this thread allocates in it. Objects that are loaded, linked or cached on
     * the first run survive, so run the code once beforehand.
     */
    public void assertAllDead(Executable region) {
        assertAllDead(region, null);
    }

    /** Like {@link #assertAllDead(Executable)}, with a message for the failure. */
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
     * Runs the code repeatedly, and fails if a data structure grows with every run. The failure names the structure and its new
     * contents. If the new objects are in no known data structure, it names their class and the paths to them.
     *
     * <p>A structure grows if it gains at least one element in every second run, and a class if it gains an instance in every run, both
     * in the first and in the second half of the runs. A cache grows until it is full, so fill it first.
     *
     * @param repeat the number of runs, at least 4; two more runs before them do not count
     */
    public void assertNoGrowth(Executable run, int repeat) {
        if (repeat < 4) {
            throw new IllegalArgumentException("repeat must be at least 4, not " + repeat);
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
