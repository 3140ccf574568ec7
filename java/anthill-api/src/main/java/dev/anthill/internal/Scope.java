package dev.anthill.internal;

import dev.anthill.Violation;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.LongPredicate;

/**
 * The assertions of one test: those that its thread makes, and threads that this one starts; while only one test runs, those of
 * all threads. Each test is told about its own, whatever others assert at the same time.
 */
public final class Scope implements AutoCloseable {
    private static final InheritableThreadLocal<Scope> CURRENT = new InheritableThreadLocal<>();
    private static final List<Scope> OPEN = new CopyOnWriteArrayList<>();

    /** The numbers of assertions, as pairs of the first and the last of each run of them. */
    private long[] runs = new long[16];

    private int used;
    private final List<Region> regions = new ArrayList<>();

    /** That of this thread before, if a pool runs a test within another. */
    private final Scope outer;

    private Scope(Scope outer) {
        this.outer = outer;
    }

    /** Begins a scope of this thread. */
    public static Scope open() {
        Scope outer = CURRENT.get();
        // A thread of a test that is over has that one's.
        while (outer != null && !OPEN.contains(outer)) {
            outer = outer.outer;
        }
        Scope scope = new Scope(outer);
        OPEN.add(scope);
        CURRENT.set(scope);
        return scope;
    }

    /** From now on nothing belongs to it any more. */
    @Override
    public void close() {
        OPEN.remove(this);
        if (CURRENT.get() == this) {
            CURRENT.set(outer);
        }
    }

    /** An assertion was made. */
    static void add(Asserted asserted) {
        Scope scope = current();
        if (scope != null) {
            scope.append(asserted.id);
        }
    }

    /** A region has ended. */
    static void add(Region region) {
        Scope scope = current();
        if (scope != null) {
            synchronized (scope) {
                scope.regions.add(region);
            }
        }
    }

    /** Threads that outlive their test, and those that no test has started, belong to the only one there is. */
    private static Scope current() {
        if (OPEN.isEmpty()) {
            return null;
        }
        Scope own = CURRENT.get();
        if (own != null && OPEN.contains(own)) {
            return own;
        }
        Object[] open = OPEN.toArray();
        return open.length == 1 ? (Scope) open[0] : null;
    }

    private synchronized void append(long id) {
        if (used > 0 && runs[used - 1] + 1 == id) {
            runs[used - 1] = id;
            return;
        }
        if (used == runs.length) {
            runs = Arrays.copyOf(runs, 2 * used);
        }
        runs[used++] = id;
        runs[used++] = id;
    }

    private synchronized boolean contains(long id) {
        for (int i = 0; i < used; i += 2) {
            if (runs[i] <= id && id <= runs[i + 1]) {
                return true;
            }
        }
        return regions.stream().anyMatch(region -> region.isSurvivor(id));
    }

    /** Whether a test will be told about the violation, so that nobody else need be. */
    static boolean isAwaited(Violation violation) {
        return OPEN.stream().anyMatch(scope -> Arrays.stream(violation.assertions()).anyMatch(scope::contains));
    }

    /** Collects and tells what does not hold of what was asserted in this scope. */
    public List<Violation> check() {
        synchronized (this) {
            if (used == 0 && regions.isEmpty()) {
                return List.of();
            }
        }
        return only(this::contains, false);
    }

    // --- at once ------------------------------------------------------------------------------

    /** What is wrong if the object in the array should be dead; it is taken out. Variables by which the calling methods name it do not
     * count. */
    public static List<Violation> dead(Object[] named, String message) {
        Asserted asserted = Ledger.dead(named[0], message);
        named[0] = null;
        return asserted == null || Checks.isCollected(asserted) ? List.of() : atOnce(asserted);
    }

    public static List<Violation> unshared(Object object, String message) {
        return atOnce(Ledger.unshared(object, message));
    }

    public static List<Violation> ownedBy(Object owner, Object ownee, String message) {
        return atOnce(Ledger.ownedBy(owner, ownee, message));
    }

    public static List<Violation> instances(Class<?> type, int max, boolean subclasses, String message) {
        return atOnce(Ledger.instancesNow(type, max, subclasses, message));
    }

    /** Checks one assertion, which is over then. */
    private static List<Violation> atOnce(Asserted asserted) {
        if (asserted == null) {
            return List.of();
        }
        try {
            return only(id -> id == asserted.id, true);
        } finally {
            asserted.clear();
        }
    }

    /** Ends the region that this thread began last; what is of these types, or anything if there are none, should be dead. Null if there is no
     * region. */
    public static Region endRegion(String message, Class<?>... types) {
        return Regions.end(message, types);
    }

    /** Collects and tells what survived a region. */
    public static List<Violation> survivors(Region region) {
        return region == null ? List.of() : only(region::isSurvivor, false);
    }

    private static List<Violation> only(LongPredicate wanted, boolean forgive) {
        List<Violation> found = new ArrayList<>(Checks.found(forgive));
        found.removeIf(violation -> Arrays.stream(violation.assertions()).noneMatch(wanted));
        return found;
    }
}
