package anthill.samples;

import dev.anthill.GcAssertions;
import dev.anthill.Violation;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Threads that make, share and drop objects all the time, and know of each what should be true. Some objects are leaked on purpose: they are all that may be
 * found, and all of them must be.
 *
 * <p>Arguments: number of threads (4), checks (5).
 */
final class AssertingStress {
    private static final int SLOTS = 2_000;
    private static final String LEAKED = "leaked";
    private static final String RELEASED = "released";

    static final List<Object> LEAKS = new ArrayList<>();
    static final AtomicLong LEAK_COUNT = new AtomicLong();
    static final AtomicLong RELEASE_COUNT = new AtomicLong();
    static volatile boolean stop;

    /** Owns what is in its slots, and is the only one that refers to it. */
    static final class Holder {
        final Object[] slots = new Object[SLOTS];
    }

    static final class Item {
        final byte[] content = new byte[64];
    }

    static final Holder[] HOLDERS = new Holder[64];

    private AssertingStress() {}

    public static void main(String[] args) throws IOException, InterruptedException {
        int threads = Console.argument(args, 0, 4);
        int checks = Console.argument(args, 1, 5);
        List<Thread> running = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            HOLDERS[i] = new Holder();
            Holder holder = HOLDERS[i];
            Random random = new Random(i);
            Thread thread = new Thread(() -> work(holder, random), "stress " + i);
            thread.start();
            running.add(thread);
        }
        long wrong = 0;
        long missing = 0;
        for (int i = 0; i < checks; i++) {
            Thread.sleep(300);
            long before = leaked();
            List<Violation> found = GcAssertions.check();
            long after = leaked();
            long leaked = 0;
            for (Violation one : found) {
                if (LEAKED.equals(one.message())) {
                    leaked += one.count();
                } else {
                    wrong += one.count();
                    Console.truth("wrong." + i, one.text().replace("\n", " | "));
                }
            }
            if (leaked < before || leaked > after) {
                missing++;
                Console.truth("missing." + i, before + " <= " + leaked + " <= " + after);
            }
        }
        stop = true;
        for (Thread thread : running) {
            thread.join();
        }
        long leaked = 0;
        for (Violation one : GcAssertions.check()) {
            if (LEAKED.equals(one.message())) {
                leaked += one.count();
            } else {
                wrong += one.count();
                Console.truth("wrong.end", one.text().replace("\n", " | "));
            }
        }
        Console.truth("wrong", wrong);
        Console.truth("missing", missing);
        Console.truth("leaked", LEAK_COUNT.get());
        Console.truth("released", RELEASE_COUNT.get());
        Console.truth("found", leaked);
        Console.readyUntilClosed();
    }

    /** How many were leaked, while none is being leaked. */
    private static long leaked() {
        synchronized (LEAKS) {
            return LEAK_COUNT.get();
        }
    }

    private static void work(Holder holder, Random random) {
        while (!stop) {
            for (int i = 0; i < 200; i++) {
                int slot = random.nextInt(SLOTS);
                if (holder.slots[slot] == null) {
                    make(holder, slot);
                } else if (random.nextInt(2_000) == 0) {
                    leak(holder, slot);
                } else {
                    release(holder, slot);
                }
            }
            pause();
        }
    }

    private static void make(Holder holder, int slot) {
        Item item = new Item();
        holder.slots[slot] = item;
        if (slot % 4 == 0) {
            GcAssertions.assertUnshared(item, "single");
        } else if (slot % 4 == 1) {
            GcAssertions.assertOwnedBy(holder, item, "owned");
        }
    }

    /** From here on it is dead. */
    private static void release(Holder holder, int slot) {
        Object item = holder.slots[slot];
        holder.slots[slot] = null;
        GcAssertions.assertDead(item, RELEASED);
        RELEASE_COUNT.incrementAndGet();
    }

    private static void leak(Holder holder, int slot) {
        if (slot % 4 < 2) {
            return;
        }
        Object item = holder.slots[slot];
        holder.slots[slot] = null;
        synchronized (LEAKS) {
            LEAKS.add(item);
            GcAssertions.assertDead(item, LEAKED);
            LEAK_COUNT.incrementAndGet();
        }
    }

    private static void pause() {
        try {
            Thread.sleep(1);
        } catch (InterruptedException e) {
            stop = true;
        }
    }
}
