package dev.anthill.internal;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/** Regions: which are open in which thread, and which wait for a collection that shows what survived them. */
public final class Regions {
    /** Of this thread, the innermost first. */
    private static final ThreadLocal<Deque<Long>> OPEN = ThreadLocal.withInitial(ArrayDeque::new);

    private static final AtomicInteger COUNT = new AtomicInteger();
    /** The first to end is the first. */
    private static final Deque<Region> ENDED = new ArrayDeque<>();

    private static final int MOST_ALONE = 1_000;
    /** A region whose allocations cannot be seen. */
    private static final long UNSEEN = 0;

    private static volatile boolean said;

    private Regions() {}

    public static void start() {
        Checks.throwWhatWaits();
        Agent.ready();
        stepOut();
        // Without the agent it is there to be ended, so that no outer one is ended instead.
        boolean sees = Agent.active && sees();
        if (!sees && Agent.active) {
            cannotSee();
        }
        OPEN.get().push(sees ? Agent.nextId() : UNSEEN);
        COUNT.incrementAndGet();
        stepBack(sees);
    }

    /** Whether allocations of this thread are told from now on. */
    private static boolean sees() {
        // A virtual thread changes the thread that runs it.
        if (!Agent.hasNatives()
                || Thread.currentThread().getClass().getName().equals("java.lang.VirtualThread")) {
            return false;
        }
        return Agent.open();
    }

    public static void end(String message) {
        end(message, new Class<?>[0]);
    }

    /** Ends a region of which only these types matter, or all if there are none; null if there is no region. */
    static Region end(String message, Class<?>[] types) {
        Deque<Long> open = OPEN.get();
        if (open.isEmpty()) {
            return null;
        }
        stepOut();
        Region region = new Region(open.pop(), Sites.here(), message, types);
        COUNT.decrementAndGet();
        if (region.id != UNSEEN) {
            Agent.close();
            if (Agent.active) {
                keep(region);
            }
        }
        Scope.add(region);
        stepBack(Agent.hasNatives() && !open.isEmpty());
        Checks.throwWhatWaits();
        return region;
    }

    /** Alone nobody else asks for survivors, so the regions that wait must not become too many. */
    private static void keep(Region region) {
        boolean alone = Agent.isAlone();
        synchronized (ENDED) {
            ENDED.add(region);
            if (alone && ENDED.size() > MOST_ALONE) {
                ENDED.remove();
            }
        }
        if (alone) {
            Checks.aloneAfterCollection();
        }
    }

    /** Whether a thread is in a region. */
    public static boolean areOpen() {
        return COUNT.get() > 0;
    }

    /** No region waits any more. */
    static void clear() {
        synchronized (ENDED) {
            ENDED.clear();
        }
    }

    private static void cannotSee() {
        if (!said) {
            said = true;
            System.err.println(
                    "anthill: assertAllDead checks nothing on this thread: "
                            + "regions need the agent and a platform thread");
        }
    }

    /** What this thread allocates from here on belongs to no region; whether it did. */
    static boolean stepOut() {
        boolean inRegion = areOpen() && !OPEN.get().isEmpty() && Agent.hasNatives();
        if (inRegion) {
            Agent.enter(0);
        }
        return inRegion;
    }

    static void stepBack(boolean intoRegion) {
        if (intoRegion) {
            Agent.enter(OPEN.get().peek());
        }
    }

    /** Whatever an ended region allocated and a collection has left is an assertion now. */
    static void findSurvivors() {
        findSurvivors(Long.MAX_VALUE);
    }

    /** The same of regions that ended before this number was given. */
    static void findSurvivors(long before) {
        List<Region> ended = new ArrayList<>();
        synchronized (ENDED) {
            while (!ENDED.isEmpty() && ENDED.peek().ended <= before) {
                ended.add(ENDED.remove());
            }
        }
        for (Region region : ended) {
            Object[] survivors = Agent.survivors(region.id);
            for (int i = 0; survivors != null && i < survivors.length; i++) {
                if (region.concerns(survivors[i])) {
                    Ledger.add(region.survivor(survivors[i]));
                }
            }
        }
    }
}
