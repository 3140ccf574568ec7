package anthill.samples;

import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A program that is never idle: threads do the same work again and again and compare its checksum with
 * the one they got before anybody looked.
 *
 * <p>Arguments name what goes on beside that: {@code threads} short threads, {@code unload} classes that come and go,
 * {@code virtual} virtual threads where the JDK has them, {@code memory} an OutOfMemoryError every now and then.
 * Commands: {@code rest} stops everything until {@code work}; both answer when it is so.
 */
final class Busy {
    private static final int THREADS = 8;
    private static final int SHORT_THREADS = 50;

    private static final AtomicLong ROUNDS = new AtomicLong();
    private static final AtomicLong OUT_OF_MEMORY = new AtomicLong();
    private static final Gate GATE = new Gate();
    /** Whoever has it finds memory: the heap is filled only by a thread that has it. */
    private static final Object MEMORY = new Object();
    private static volatile boolean memoryIsShort;
    private static volatile boolean ending;

    /** Lets all workers pass, or holds them. */
    private static final class Gate {
        private boolean closed;
        private int inside;

        synchronized void enter() throws InterruptedException {
            while (closed) {
                wait();
            }
            inside++;
        }

        synchronized void leave() {
            inside--;
            notifyAll();
        }

        synchronized void close() throws InterruptedException {
            closed = true;
            while (inside > 0) {
                wait();
            }
        }

        synchronized void open() {
            closed = false;
            notifyAll();
        }
    }

    private interface Work {
        void run() throws Exception;
    }

    /** Loaded again and again, by loaders of its own. */
    public static final class Plugin implements Runnable {
        private final Map<String, Object> kept = new HashMap<>();

        @Override
        public void run() {
            for (int i = 0; i < 100; i++) {
                kept.put("plugin " + i, new byte[512]);
            }
        }
    }

    private static final class PluginLoader extends ClassLoader {
        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.endsWith("$Plugin")) {
                return super.loadClass(name, resolve);
            }
            try (InputStream in = Busy.class.getResourceAsStream("Busy$Plugin.class")) {
                byte[] code = in.readAllBytes();
                return defineClass(name, code, 0, code.length);
            } catch (IOException e) {
                throw new ClassNotFoundException(name, e);
            }
        }
    }

    private static long checksum(long seed) {
        Random random = new Random(seed);
        Map<String, List<Long>> lists = new HashMap<>();
        for (int i = 0; i < 2_000; i++) {
            long value = random.nextLong();
            lists.computeIfAbsent("list " + value % 97, key -> new ArrayList<>()).add(value);
        }
        long sum = seed;
        for (Map.Entry<String, List<Long>> entry : lists.entrySet()) {
            Object[] sorted = entry.getValue().toArray();
            Arrays.sort(sorted);
            sum += entry.getKey().hashCode() * 31L + Arrays.hashCode(sorted);
        }
        return sum;
    }

    private static void runShortThreads() throws InterruptedException {
        long failures = OUT_OF_MEMORY.get();
        AtomicLong sum = new AtomicLong();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < SHORT_THREADS; i++) {
            Thread thread = new Thread(() -> add(4096, sum), "short " + i);
            thread.start();
            threads.add(thread);
        }
        for (Thread thread : threads) {
            thread.join();
        }
        expect(sum.get() == SHORT_THREADS * 4096L || OUT_OF_MEMORY.get() > failures, "short threads");
    }

    private static void add(int bytes, AtomicLong sum) {
        try {
            byte[] kept = new byte[bytes];
            Thread.yield();
            sum.addAndGet(kept.length);
        } catch (OutOfMemoryError e) {
            OUT_OF_MEMORY.incrementAndGet();
        }
    }

    private static void loadAndForget() throws ReflectiveOperationException {
        Class<?> plugin = new PluginLoader().loadClass(Busy.class.getName() + "$Plugin");
        ((Runnable) plugin.getDeclaredConstructor().newInstance()).run();
    }

    private static void runVirtualThreads(Method start) throws Exception {
        int count = 200;
        long failures = OUT_OF_MEMORY.get();
        AtomicLong sum = new AtomicLong();
        CountDownLatch done = new CountDownLatch(count);
        for (int i = 0; i < count; i++) {
            Runnable work = () -> {
                add(1024, sum);
                done.countDown();
            };
            start.invoke(null, work);
        }
        // The JVM forgets a virtual thread that it has no memory to run.
        boolean ended = false;
        while (!ended && OUT_OF_MEMORY.get() == failures) {
            ended = done.await(1, TimeUnit.SECONDS);
        }
        expect(sum.get() == count * 1024L || OUT_OF_MEMORY.get() > failures, "virtual threads");
    }

    private static void runOutOfMemory() throws InterruptedException {
        synchronized (MEMORY) {
            try {
                List<byte[]> kept = new ArrayList<>();
                while (!ending) {
                    kept.add(new byte[1 << 20]);
                }
            } catch (OutOfMemoryError e) {
                OUT_OF_MEMORY.incrementAndGet();
            }
        }
        Thread.sleep(200);
    }

    /** Waits for the next command, however full the heap is; null when there is none. */
    private static String nextCommand() throws IOException {
        boolean waited = false;
        while (!waited) {
            try {
                Console.awaitCommand();
                waited = true;
            } catch (OutOfMemoryError e) {
                OUT_OF_MEMORY.incrementAndGet();
            }
        }
        synchronized (MEMORY) {
            String command = Console.command();
            ending = command == null;
            return command;
        }
    }

    private static void forever(String name, Work work) {
        Thread thread = new Thread(() -> {
            while (true) {
                try {
                    GATE.enter();
                    try {
                        work.run();
                    } finally {
                        GATE.leave();
                    }
                } catch (OutOfMemoryError e) {
                    // Somebody else's: this round is lost.
                    OUT_OF_MEMORY.incrementAndGet();
                } catch (Throwable e) {
                    if (memoryIsShort) {
                        // Libraries fail in other ways, too, when they get no memory.
                        OUT_OF_MEMORY.incrementAndGet();
                        continue;
                    }
                    e.printStackTrace();
                    expect(false, name);
                }
            }
        }, name);
        thread.setDaemon(true);
        thread.start();
    }

    private static void expect(boolean holds, String what) {
        if (!holds) {
            System.err.println("WRONG " + what);
            Runtime.getRuntime().halt(42);
        }
    }

    private static void startBeside(String what) {
        switch (what) {
            case "threads":
                forever("threads", Busy::runShortThreads);
                break;
            case "unload":
                forever("unload", Busy::loadAndForget);
                break;
            case "virtual":
                try {
                    Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
                    forever("virtual", () -> runVirtualThreads(start));
                } catch (NoSuchMethodException e) {
                    // This JDK has none.
                }
                break;
            case "memory":
                memoryIsShort = true;
                forever("memory", Busy::runOutOfMemory);
                break;
            default:
                throw new IllegalArgumentException(what);
        }
    }

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < THREADS; i++) {
            long seed = i;
            long expected = checksum(seed);
            forever("worker " + i, () -> {
                expect(checksum(seed) == expected, "checksum");
                ROUNDS.incrementAndGet();
            });
        }
        synchronized (MEMORY) {
            for (String what : args) {
                startBeside(what);
            }
        }
        String command;
        do {
            synchronized (MEMORY) {
                Console.truth("rounds", ROUNDS);
                Console.truth("out of memory", OUT_OF_MEMORY);
                Console.sayReady();
            }
            command = nextCommand();
            if ("rest".equals(command)) {
                GATE.close();
            } else if ("work".equals(command)) {
                GATE.open();
            }
        } while (command != null);
    }
}
