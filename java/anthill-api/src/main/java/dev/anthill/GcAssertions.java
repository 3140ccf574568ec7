package dev.anthill;

import dev.anthill.internal.Agent;
import dev.anthill.internal.Checks;
import dev.anthill.internal.Ledger;
import dev.anthill.internal.Regions;
import java.util.List;
import java.util.function.Consumer;

/**
 * Says what should be true of the heap: which objects are dead, single, unshared or owned.
 *
 * <pre>{@code
 * void close() {
 *     sessions.remove(id);
 *     GcAssertions.assertDead(this, "closed sessions");
 * }
 * }</pre>
 *
 * <p>An assertion returns at once. It is checked on a state of the heap that is taken later: after the next full garbage collection, when
 * the agent's budget allows it, or when {@link #check} is called. Objects are only held weakly, and an assertion that has come true or
 * whose object has died takes no memory any more, so millions of them are fine. A violation names the assertion, where it was made, the object and the
 * full path from a GC root that keeps it alive.
 *
 * <p>Assertions work where Anthill's agent is in the JVM: {@code java -agentpath:libanthill_agent.so}, {@code anthill record}, or
 * {@code anthill attach} at any time. Without it calls do nothing, at the price of reading a static field. With {@code -Ddev.anthill.required=true}
 * they throw an {@link IllegalStateException} instead, so that nobody believes in checks that are not made. With {@code -Ddev.anthill.keep=true} assertions
 * are kept without the agent too, so that {@code anthill check} finds them in a heap dump.
 *
 * <p>All methods may be called by all threads. A null is not an object: nothing is asserted about it.
 */
public final class GcAssertions {
    private GcAssertions() {}

    /**
     * The object should be dead by the next check: reachable neither through strong nor through soft references.
     *
     * <pre>{@code
     * Order order = table.remove(id);
     * GcAssertions.assertDead(order);
     * }</pre>
     */
    public static void assertDead(Object object) {
        assertDead(object, null);
    }

    /** Like {@link #assertDead(Object)}, with words that a violation repeats. */
    public static void assertDead(Object object, String message) {
        if (Agent.active) {
            Ledger.dead(object, message);
        } else {
            Agent.absent();
        }
    }

    /**
     * Begins a region of this thread: {@link #assertAllDead} asserts that everything which the thread allocates from here to there is dead.
     * Regions may contain others; each allocation belongs to the innermost.
     *
     * <pre>{@code
     * GcAssertions.startRegion();
     * try {
     *     server.handle(request);
     * } finally {
     *     GcAssertions.assertAllDead("one request");
     * }
     * }</pre>
     *
     * <p>While any region is open, every allocation of every thread costs about a quarter of a microsecond more: fine in a test. What classes and lambdas need
     * when they are first used lives on, so run the code once before.
     */
    public static void startRegion() {
        if (!Agent.active) {
            Agent.absent();
        }
        if (Agent.active || Regions.areOpen()) {
            Regions.start();
        }
    }

    /** Ends the region that this thread began last: what it allocated in there should be dead by the next check. */
    public static void assertAllDead() {
        assertAllDead(null);
    }

    /** Like {@link #assertAllDead()}, with words that a violation repeats. */
    public static void assertAllDead(String message) {
        // A region that was begun must end, whether the agent is still there or not.
        if (Agent.active || Regions.areOpen()) {
            Regions.end(message);
        }
        if (!Agent.active) {
            Agent.absent();
        }
    }

    /**
     * From now on there should never be more than {@code max} instances of the type and its subtypes. A later call for the same type replaces the
     * limit.
     *
     * <pre>{@code
     * GcAssertions.assertInstances(IndexSearcher.class, 1);
     * }</pre>
     */
    public static void assertInstances(Class<?> type, int max) {
        assertInstances(type, max, null);
    }

    /** Like {@link #assertInstances(Class, int)}, with words that a violation repeats. */
    public static void assertInstances(Class<?> type, int max, String message) {
        if (Agent.active) {
            Ledger.instances(type, max, true, message);
        } else {
            Agent.absent();
        }
    }

    /** Like {@link #assertInstances(Class, int)}, for instances of the class itself: those of subclasses do not count. */
    public static void assertDirectInstances(Class<?> type, int max) {
        assertDirectInstances(type, max, null);
    }

    /** Like {@link #assertDirectInstances(Class, int)}, with words that a violation repeats. */
    public static void assertDirectInstances(Class<?> type, int max, String message) {
        if (Agent.active) {
            Ledger.instances(type, max, false, message);
        } else {
            Agent.absent();
        }
    }

    /**
     * From now on the object should never have more than one reference to it from other objects or static fields. Local variables do not count: they are how the
     * program looks at it.
     *
     * <pre>{@code
     * void add(Node child) {
     *     children.add(child);
     *     GcAssertions.assertUnshared(child, "the tree is a tree");
     * }
     * }</pre>
     */
    public static void assertUnshared(Object object) {
        assertUnshared(object, null);
    }

    /** Like {@link #assertUnshared(Object)}, with words that a violation repeats. */
    public static void assertUnshared(Object object, String message) {
        if (Agent.active) {
            Ledger.unshared(object, message);
        } else {
            Agent.absent();
        }
    }

    /**
     * From now on the ownee should never be reachable without being reachable from its owner. Others may refer to it too, as long as the owner does.
     *
     * <pre>{@code
     * orders.put(order.id(), order);
     * GcAssertions.assertOwnedBy(orders, order);
     * }</pre>
     */
    public static void assertOwnedBy(Object owner, Object ownee) {
        assertOwnedBy(owner, ownee, null);
    }

    /** Like {@link #assertOwnedBy(Object, Object)}, with words that a violation repeats. */
    public static void assertOwnedBy(Object owner, Object ownee, String message) {
        if (Agent.active) {
            Ledger.ownedBy(owner, ownee, message);
        } else {
            Agent.absent();
        }
    }

    /**
     * Collects garbage, checks all assertions now, waits for that and returns what does not hold, whether it was reported before or not. A local variable
     * that still has the object keeps it alive.
     *
     * <pre>{@code
     * assertEquals(List.of(), GcAssertions.check());
     * }</pre>
     */
    public static List<Violation> check() {
        if (Agent.active) {
            return Checks.now();
        }
        Agent.absent();
        return List.of();
    }

    /** Calls the listener with everything that is found, once for equal violations: for what {@link #check} finds in the thread that called it, otherwise
     * in a thread of Anthill's. */
    public static void addListener(Consumer<Violation> listener) {
        Checks.addListener(listener);
    }

    /** The listener is not called any more. */
    public static void removeListener(Consumer<Violation> listener) {
        Checks.removeListener(listener);
    }

    /** Chooses what happens when an assertion of that kind does not hold. */
    public static void react(Kind kind, Reaction reaction) {
        Checks.react(kind, reaction);
    }

    /** Whether assertions are kept and checked. */
    public static boolean isActive() {
        return Agent.active;
    }

    /** Fails if assertions are not checked.
     *
     * @throws IllegalStateException with what to do about it */
    public static void require() {
        if (!Agent.active) {
            throw Agent.missing();
        }
    }
}
