package dev.anthill.internal;

import dev.anthill.GcAssertionError;
import dev.anthill.Kind;
import dev.anthill.Reaction;
import dev.anthill.Violation;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** Asks for checks, takes their results, and does what the program wants done about them. */
public final class Checks {
    /** Texts that the agent delivers for each violation. */
    static final int FIELDS = 11;

    /** No thread has this id. */
    private static final long NOBODY = 0;

    private static final int HALTED = 70;
    /** Equal violations are reported again when there are so many times more. */
    private static final long MUCH_MORE = 10;

    private static final int MOST_KEYS = 10_000;
    private static final long PATIENCE_SECONDS = Long.getLong("dev.anthill.patience", 600);

    private static final Map<Long, Request> ASKED = new ConcurrentHashMap<>();
    private static final List<Consumer<Violation>> LISTENERS = new CopyOnWriteArrayList<>();
    private static final Map<Kind, Reaction> REACTIONS = new EnumMap<>(Kind.class);
    /** How many equal violations there were, and how many of them were reported. */
    private static final Map<String, long[]> SEEN = new HashMap<>();
    /** To be thrown by the next call. */
    private static final List<Violation> WAITING = new ArrayList<>();

    private static volatile boolean mustThrow;
    private static long aloneSince = -1;
    private static long assertedBefore;

    private Checks() {}

    /** A check that somebody waits for. */
    private static final class Request {
        final CountDownLatch answered = new CountDownLatch(1);
        List<Found> found;
        String failure;

        void done() {
            answered.countDown();
        }
    }

    /** A violation, and whether it is new. */
    private static final class Found {
        final Violation violation;
        final boolean isNew;

        Found(Violation violation, boolean isNew) {
            this.violation = violation;
            this.isNew = isNew;
        }
    }

    /** Collects, checks everything, reacts, and returns what does not hold. */
    public static List<Violation> now() {
        throwWhatWaits();
        return violations(checked(NOBODY), true);
    }

    /** The same without any reaction: a test does what is to be done. With {@code forgive}, variables of the method that called do not keep
     * objects alive: it names what it asserts dead.
     *
     * @throws IllegalStateException if nobody can be asked: what the JVM alone can tell is not enough for a test */
    static List<Violation> found(boolean forgive) {
        boolean inRegion = Regions.stepOut();
        try {
            Request asked = ask(forgive ? Thread.currentThread().getId() : NOBODY);
            if (asked == null || asked.found == null) {
                String why = asked == null ? Agent.reason() : asked.failure;
                throw new IllegalStateException("cannot check the heap: " + why);
            }
            return violations(asked.found, false);
        } finally {
            Regions.stepBack(inRegion);
        }
    }

    /** Whether a collection takes away what the assertion is about. */
    static boolean isCollected(Asserted asserted) {
        Agent.collect();
        return Ledger.isCleared(asserted);
    }

    private static List<Found> checked(long forgiven) {
        if (!Agent.hasNatives()) {
            // Assertions are only kept.
            return List.of();
        }
        boolean inRegion = Regions.stepOut();
        try {
            Request asked = ask(forgiven);
            if (asked == null || asked.found == null) {
                return alone(asked == null ? Agent.reason() : asked.failure, Long.MAX_VALUE, true);
            }
            return asked.found;
        } finally {
            Regions.stepBack(inRegion);
        }
    }

    private static List<Violation> violations(List<Found> found, boolean react) {
        List<Violation> all = new ArrayList<>();
        for (Found one : found) {
            all.add(one.violation);
            if (react && one.isNew) {
                react(one.violation, false);
            }
        }
        return List.copyOf(all);
    }

    /** Null if nobody can be asked. */
    private static Request ask(long forgiven) {
        if (!Agent.isConnected(PATIENCE_SECONDS)) {
            return null;
        }
        long number = Agent.nextId();
        Request request = new Request();
        ASKED.put(number, request);
        if (!Agent.ask(number, forgiven)) {
            ASKED.remove(number);
            return null;
        }
        if (!await(request.answered)) {
            ASKED.remove(number);
            request.failure = "the check took longer than " + PATIENCE_SECONDS + " s";
        }
        return request;
    }

    /** Interrupts are kept for the program. */
    private static boolean await(CountDownLatch latch) {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return latch.await(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    static void deliver(long number, String failure, String[] fields) {
        Request request = ASKED.remove(number);
        List<Found> found = failure == null ? found(fields) : null;
        if (request != null) {
            request.found = found;
            request.failure = failure;
            request.done();
        } else if (found != null) {
            for (Found one : found) {
                if (one.isNew && !Scope.isAwaited(one.violation)) {
                    react(one.violation, true);
                }
            }
        } else {
            aloneAfterCollection(failure);
        }
    }

    /** Nobody checks any more: whoever waits must not wait for ever. */
    static void lost() {
        for (Long number : ASKED.keySet()) {
            Request request = ASKED.remove(number);
            if (request != null) {
                request.failure = Agent.reason();
                request.done();
            }
        }
    }

    private static List<Found> found(String[] fields) {
        List<Found> all = new ArrayList<>();
        for (int at = 0; at + FIELDS <= fields.length; at += FIELDS) {
            String[] one = Arrays.copyOfRange(fields, at, at + FIELDS);
            long[] own =
                    Arrays.stream(lines(one[9], ","))
                            .mapToLong(Long::parseLong)
                            .filter(Agent::gave)
                            .toArray();
            if (own.length > 0) {
                Violation violation = violation(one, own);
                all.add(new Found(violation, isNew(one[10], violation)));
            }
        }
        return all;
    }

    private static Violation violation(String[] fields, long[] assertions) {
        List<List<String>> paths = new ArrayList<>();
        for (String path : lines(fields[6], "\n\n")) {
            paths.add(List.of(lines(path, "\n")));
        }
        return new Violation(
                Kind.valueOf(fields[0]),
                fields[1],
                List.of(lines(fields[5], "\n")),
                fields[2],
                Long.parseLong(fields[3]),
                Long.parseLong(fields[4]),
                paths,
                fields[7],
                fields[8],
                assertions);
    }

    private static String[] lines(String text, String separator) {
        return text == null || text.isEmpty() ? new String[0] : text.split(separator);
    }

    /** Whether it should be reported: some of its assertions were not, and equal ones not nearly as often. */
    private static boolean isNew(String key, Violation violation) {
        long[] assertions = violation.assertions();
        Arrays.sort(assertions);
        long[] unreported = new long[1];
        Ledger.forEach(
                asserted -> {
                    if (!asserted.reported && Arrays.binarySearch(assertions, asserted.id) >= 0) {
                        asserted.reported = true;
                        unreported[0]++;
                    }
                });
        if (unreported[0] == 0) {
            return false;
        }
        synchronized (SEEN) {
            if (SEEN.size() >= MOST_KEYS) {
                SEEN.clear();
            }
            long[] seen = SEEN.computeIfAbsent(key, any -> new long[2]);
            seen[0] += unreported[0];
            if (seen[1] > 0 && seen[0] < MUCH_MORE * seen[1]) {
                return false;
            }
            seen[1] = seen[0];
            return true;
        }
    }

    // --- without anybody who checks -----------------------------------------------------------

    /** After a full collection what was asserted dead before it and is still there is a violation; how it is held is not known. */
    static void aloneAfterCollection() {
        aloneAfterCollection(Agent.reason());
    }

    private static void aloneAfterCollection(String why) {
        long before;
        synchronized (SEEN) {
            // Before the collections, so that one more of them means one after this number.
            long last = Agent.lastId();
            long collections = Agent.fullCollections();
            if (collections == aloneSince) {
                return;
            }
            before = aloneSince < 0 ? 0 : assertedBefore;
            aloneSince = collections;
            assertedBefore = last;
        }
        Regions.findSurvivors(before);
        for (Found one : alone(why, before, false)) {
            if (one.isNew) {
                react(one.violation, true);
            }
        }
    }

    private static List<Found> alone(String why, long before, boolean collect) {
        long last = Math.min(before, Agent.lastId());
        if (collect && Agent.hasNatives()) {
            Agent.collect();
            Regions.findSurvivors();
        }
        Map<List<Object>, List<Asserted>> groups = new HashMap<>();
        Ledger.forEach(
                asserted -> {
                    // Survivors are what a collection has left already.
                    boolean due =
                            asserted instanceof Survivor
                                    || asserted instanceof Dead && asserted.id <= last;
                    Object object = due ? asserted.get() : null;
                    if (object != null) {
                        String message = String.valueOf(asserted.message);
                        List<Object> key =
                                List.of(asserted.getClass(), asserted.site, message, object.getClass());
                        groups.computeIfAbsent(key, any -> new ArrayList<>()).add(asserted);
                    }
                });
        List<Found> all = new ArrayList<>();
        groups.forEach(
                (key, group) -> {
                    Class<?> type = (Class<?>) key.get(3);
                    Violation violation = WithoutPath.violation(group, type.getTypeName(), why);
                    all.add(new Found(violation, isNew(key.toString(), violation)));
                });
        return all;
    }

    // --- reactions ----------------------------------------------------------------------------

    public static void addListener(Consumer<Violation> listener) {
        LISTENERS.add(listener);
    }

    public static void removeListener(Consumer<Violation> listener) {
        LISTENERS.remove(listener);
    }

    public static void react(Kind kind, Reaction reaction) {
        synchronized (REACTIONS) {
            REACTIONS.put(kind, reaction);
        }
    }

    private static void react(Violation violation, boolean onOwnThread) {
        Reaction reaction;
        synchronized (REACTIONS) {
            reaction = REACTIONS.getOrDefault(violation.kind(), Reaction.LOG);
        }
        if (reaction == Reaction.LOG || reaction == Reaction.HALT) {
            System.err.println("anthill: " + violation.text());
        }
        if (!LISTENERS.isEmpty()) {
            if (onOwnThread) {
                Herald.tell(violation);
            } else {
                callListeners(violation);
            }
        }
        if (reaction == Reaction.THROW) {
            synchronized (WAITING) {
                WAITING.add(violation);
                mustThrow = true;
            }
        } else if (reaction == Reaction.HALT) {
            Runtime.getRuntime().halt(HALTED);
        }
    }

    private static void callListeners(Violation violation) {
        for (Consumer<Violation> listener : LISTENERS) {
            try {
                listener.accept(violation);
            } catch (RuntimeException | AssertionError e) {
                System.err.println("anthill: a listener failed: " + e);
            }
        }
    }

    static void throwWhatWaits() {
        if (mustThrow) {
            List<Violation> waiting;
            synchronized (WAITING) {
                waiting = List.copyOf(WAITING);
                WAITING.clear();
                mustThrow = false;
            }
            if (!waiting.isEmpty()) {
                throw new GcAssertionError(waiting);
            }
        }
    }

    /** Calls listeners beside the agent's thread, which must not wait for them, on a thread that is there while there is news. */
    private static final class Herald {
        private static final long IDLE_SECONDS = 5;
        private static final BlockingQueue<Violation> NEWS = new LinkedBlockingQueue<>();
        private static boolean running;

        static void tell(Violation violation) {
            NEWS.add(violation);
            start();
        }

        private static synchronized void start() {
            if (!running && !NEWS.isEmpty()) {
                // Nothing of whoever caused the news is kept alive by it.
                Thread thread = new Thread(null, Herald::run, "anthill listeners", 0, false);
                thread.setContextClassLoader(null);
                thread.setDaemon(true);
                thread.start();
                running = true;
            }
        }

        private static void run() {
            try {
                Violation next;
                while ((next = NEWS.poll(IDLE_SECONDS, TimeUnit.SECONDS)) != null) {
                    callListeners(next);
                }
            } catch (InterruptedException e) {
                // Somebody interrupts all threads: the next one goes on.
            } finally {
                ended();
            }
        }

        private static synchronized void ended() {
            running = false;
            // What came after the last look.
            start();
        }
    }
}
