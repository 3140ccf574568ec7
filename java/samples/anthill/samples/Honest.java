package anthill.samples;

import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Supplier;

/**
 * Heaps that look like a known way to leak from afar, and are none: for each, whatever would give the pattern away is
 * missing.
 *
 * <p>The argument says which one.
 */
final class Honest {
    private static final int OBJECTS = 20_000;
    private static final int THREADS = 40;

    static Object held;
    static Map<Object, Object> identity;
    static Registry registry;

    private Honest() {}

    static final class Payload {
        final byte[] bytes = new byte[400];
    }

    /** A field with a suspicious name, far above the memory. */
    static final class Registry {
        final Object[] listeners = new Object[1];
    }

    static final class Step {
        final Object next;

        Step(Object next) {
            this.next = next;
        }
    }

    /** Holds what it works on in a field, not in a thread-local variable. */
    static final class Worker extends Thread {
        final List<Payload> work = payloads();

        Worker() {
            setDaemon(true);
        }

        @Override
        public void run() {
            try {
                Thread.sleep(Long.MAX_VALUE);
            } catch (InterruptedException e) {
                // The program ends.
            }
        }
    }

    private static List<Payload> payloads() {
        List<Payload> payloads = new ArrayList<>();
        for (int i = 0; i < OBJECTS; i++) {
            payloads.add(new Payload());
        }
        return payloads;
    }

    /** What such a lambda captures is what it was made for. */
    private static Supplier<Payload> capturing(Payload parameter) {
        return () -> parameter;
    }

    private static Object lambdas() {
        List<Supplier<Payload>> lambdas = new ArrayList<>();
        for (int i = 0; i < OBJECTS; i++) {
            lambdas.add(capturing(new Payload()));
        }
        return lambdas;
    }

    private static Object farBelowListeners() {
        Object below = payloads();
        for (int i = 0; i < 8; i++) {
            below = new Step(below);
        }
        registry = new Registry();
        registry.listeners[0] = below;
        return null;
    }

    /** The keys are held by others, as they should be, and no value leads to its key. */
    private static Object weakMap() {
        Map<Object, Object> map = new WeakHashMap<>();
        List<Object> keys = new ArrayList<>();
        for (int i = 0; i < OBJECTS; i++) {
            Object key = new Object();
            keys.add(key);
            map.put(key, new Payload());
        }
        return new Object[] {map, keys};
    }

    /** The threads of one pool work on, each with payloads of its own. */
    private static ExecutorService onePool() throws InterruptedException {
        ThreadLocal<List<Payload>> own = new ThreadLocal<>();
        ExecutorService pool = Executors.newFixedThreadPool(THREADS, Honest::daemon);
        CountDownLatch working = new CountDownLatch(THREADS);
        for (int i = 0; i < THREADS; i++) {
            pool.execute(() -> {
                List<Payload> some = new ArrayList<>();
                for (int j = 0; j < OBJECTS / THREADS; j++) {
                    some.add(new Payload());
                }
                own.set(some);
                // Each task waits for the others, so that every thread has one.
                working.countDown();
                awaitAll(working);
            });
        }
        working.await();
        return pool;
    }

    private static Thread daemon(Runnable work) {
        Thread thread = new Thread(work);
        thread.setDaemon(true);
        return thread;
    }

    private static void awaitAll(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static Object fewReferences() {
        ReferenceQueue<Object> queue = new ReferenceQueue<>();
        List<Object> references = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            references.add(new WeakReference<>(new Object(), queue));
        }
        System.gc();
        return new Object[] {queue, references, payloads()};
    }

    public static void main(String[] args) throws Exception {
        Object local = null;
        switch (args[0]) {
            case "lambdas":
                held = lambdas();
                break;
            case "identity":
                identity = new IdentityHashMap<>();
                payloads().forEach(payload -> identity.put(payload, payload));
                break;
            case "far-listeners":
                held = farBelowListeners();
                break;
            case "weak":
                held = weakMap();
                break;
            case "queue":
                held = fewReferences();
                break;
            case "buffer":
                held = new Object[] {ByteBuffer.allocateDirect(1000), payloads()};
                break;
            case "pool":
                held = onePool();
                break;
            case "worker":
                new Worker().start();
                break;
            case "local":
                local = payloads();
                break;
            default:
                throw new IllegalArgumentException(args[0]);
        }
        Console.truth("payloads", OBJECTS);
        Console.readyUntilClosed();
        Console.truth("local", local);
    }
}
