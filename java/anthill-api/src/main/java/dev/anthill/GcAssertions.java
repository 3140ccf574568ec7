package dev.anthill;

import dev.anthill.internal.Agent;
import dev.anthill.internal.Checks;
import dev.anthill.internal.Ledger;
import dev.anthill.internal.Regions;
import java.util.List;
import java.util.function.Consumer;

/**
 * Assertions about the heap: which objects should be dead, single, unshared or owned.
 *
 * <pre>{@code
 * void close() {
 *     sessions.remove(id);
 *     GcAssertions.assertDead(this, "closed sessions");
 * }
 * }</pre>
 *
 * <p>An assertion returns immediately. Anthill checks it later on a state of the heap: after the next full garbage
 * collection, when the agent's budget allows it, or when the program calls {@link #check}. Assertions hold their objects weakly and
 * take no memory once they are settled, so millions of them are fine. A violation contains the assertion and where it was made, the
 * object, and the full path from the GC root that keeps the object alive.
 *
 * <p>Assertions need Anthill's agent in the JVM: {@code java -agentpath:libanthill_agent.so}, {@code anthill record}, or
 * {@code anthill attach} at any time. Without the agent, a call only reads a static field. With
 * {@code -Ddev.anthill.required=true} it throws an {@link IllegalStateException} instead, so that missing checks do not go
 * unnoticed. With {@code -Ddev.anthill.keep=true} the program keeps its assertions even without the agent, so that
 * {@code anthill check} finds them in a heap dump.
 *
 * <p>All methods are thread-safe. Assertions about null have no effect.
 */
public final class GcAssertions {
    private GcAssertions() {}

    /**
     * Asserts that the object is dead by the next check: not reachable through strong or soft references.
     *
     * <pre>{@code
     * Order order = table.remove(id);
     * GcAssertions.assertDead(order);
     * }</pre>
     */
    public static void assertDead(Object object) {
        assertDead(object, null);
    }

    /** Like {@link #assertDead(Object)}, with a message for the violation. */
    public static void assertDead(Object object, String message) {
        if (Agent.active) {
            Ledger.dead(object, message);
        } else {
            Agent.absent();
        }
    }

    /**
     * Starts a region of this thread. {@link #assertAllDead} ends it and asserts that everything the thread allocated in the region is
     * dead. Regions nest; an allocation belongs to the innermost region.
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
     * <p>While any region is open, every allocation of every thread costs about a quarter of a microsecond more, which is fine in a
     * test. Objects that classes and lambdas need on first use survive, so run the code once beforehand.
     */
    public static void startRegion() {
        if (!Agent.active) {
            Agent.absent();
        }
        if (Agent.active || Regions.areOpen()) {
            Regions.start();
        }
    }

    /** Ends this thread's innermost region and asserts that everything allocated in it is dead by the next check. */
    public static void assertAllDead() {
        assertAllDead(null);
    }

    /** Like {@link #assertAllDead()}, with a message for the violation. */
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
     * Asserts that from now on there are never more than {@code max} reachable instances of the type and its subtypes. A later call for
     * the same type replaces the limit.
     *
     * <pre>{@code
     * GcAssertions.assertInstances(IndexSearcher.class, 1);
     * }</pre>
     */
    public static void assertInstances(Class<?> type, int max) {
        assertInstances(type, max, null);
    }

    /** Like {@link #assertInstances(Class, int)}, with a message for the violation. */
    public static void assertInstances(Class<?> type, int max, String message) {
        if (Agent.active) {
            Ledger.instances(type, max, true, message);
        } else {
            Agent.absent();
        }
    }

    /** Like {@link #assertInstances(Class, int)}, but without instances of subclasses. */
    public static void assertDirectInstances(Class<?> type, int max) {
        assertDirectInstances(type, max, null);
    }

    /** Like {@link #assertDirectInstances(Class, int)}, with a message for the violation. */
    public static void assertDirectInstances(Class<?> type, int max, String message) {
        if (Agent.active) {
            Ledger.instances(type, max, false, message);
        } else {
            Agent.absent();
        }
    }

    /**
     * Asserts that from now on at most one reference leads to the object from other objects and static fields. Local variables do not
     * count.
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

    /** Like {@link #assertUnshared(Object)}, with a message for the violation. */
    public static void assertUnshared(Object object, String message) {
        if (Agent.active) {
            Ledger.unshared(object, message);
        } else {
            Agent.absent();
        }
    }

    /**
     * Asserts that from now on the ownee is reachable from its owner or dead. Other objects may also refer to the ownee.
     *
     * <pre>{@code
     * orders.put(order.id(), order);
     * GcAssertions.assertOwnedBy(orders, order);
     * }</pre>
     */
    public static void assertOwnedBy(Object owner, Object ownee) {
        assertOwnedBy(owner, ownee, null);
    }

    /** Like {@link #assertOwnedBy(Object, Object)}, with a message for the violation. */
    public static void assertOwnedBy(Object owner, Object ownee, String message) {
        if (Agent.active) {
            Ledger.ownedBy(owner, ownee, message);
        } else {
            Agent.absent();
        }
    }

    /**
     * Collects garbage, checks all assertions, waits for the result and returns all violations, including those reported before. A
     * local variable that still refers to an object keeps it alive.
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

    /** Adds a listener for violations. Anthill calls it once for equal violations: on the calling thread for violations that
     * {@link #check} finds, otherwise on its own thread. */
    public static void addListener(Consumer<Violation> listener) {
        Checks.addListener(listener);
    }

    /** Removes a listener. */
    public static void removeListener(Consumer<Violation> listener) {
        Checks.removeListener(listener);
    }

    /** Sets the reaction to violations of this kind. */
    public static void react(Kind kind, Reaction reaction) {
        Checks.react(kind, reaction);
    }

    /** Returns whether assertions are kept and checked. */
    public static boolean isActive() {
        return Agent.active;
    }

    /** Fails if assertions are not checked.
     *
     * @throws IllegalStateException if assertions are not checked; the message explains how to load the agent */
    public static void require() {
        if (!Agent.active) {
            throw Agent.missing();
        }
    }
}
