package anthill.samples;

import com.sun.management.ThreadMXBean;
import java.io.IOException;
import java.io.InputStream;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A program to be recorded: it does what it is told and goes on checking its own results.
 *
 * <p>Commands: {@code heads N} makes N heads more, {@code drop N} forgets the oldest, {@code churn MB}
 * allocates so much garbage, {@code gc} collects, {@code threads N} runs N threads, {@code virtual N} as
 * many virtual ones, {@code unload N} loads a class N times in a loader of its own and forgets it, {@code run MS} works in the background of
 * the console for so long, {@code exit} ends the program at once.
 */
final class Recorded {
    static final List<Head> HEADS = new ArrayList<>();
    static volatile Object sink;

    private static int nextNumber;
    private static int unloaded;
    private static int threadsRun;
    private static int virtualRun;

    /** The head of a small data structure. */
    static class Head {
        final int number;
        final int check;
        final int[] payload = new int[4];

        Head(int number) {
            this.number = number;
            this.check = number * 31 + 7;
        }
    }

    /** Every tenth head is one of these. */
    static final class SpecialHead extends Head {
        SpecialHead(int number) {
            super(number);
        }
    }

    static final class Garbage {
        final byte[] bytes = new byte[1000];
        Garbage next;
    }

    /** Loaded many times, by loaders of its own. */
    public static final class Visitor implements Runnable {
        private final List<Object> kept = new ArrayList<>();

        @Override
        public void run() {
            for (int i = 0; i < 300; i++) {
                kept.add(new byte[4096]);
            }
        }
    }

    private static final class OneClassLoader extends ClassLoader {
        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.endsWith("$Visitor")) {
                return super.loadClass(name, resolve);
            }
            String file = "Recorded$Visitor.class";
            try (InputStream in = Recorded.class.getResourceAsStream(file)) {
                byte[] code = in.readAllBytes();
                return defineClass(name, code, 0, code.length);
            } catch (IOException e) {
                throw new ClassNotFoundException(name, e);
            }
        }
    }

    private static void addHeads(int count) {
        for (int i = 0; i < count; i++) {
            int number = nextNumber++;
            HEADS.add(number % 10 == 0 ? new SpecialHead(number) : new Head(number));
        }
    }

    private static void churn(int megabytes) {
        Garbage last = null;
        for (int i = 0; i < megabytes * 1000; i++) {
            Garbage garbage = new Garbage();
            garbage.next = i % 100 == 0 ? null : last;
            last = garbage;
        }
        sink = last;
        sink = null;
    }

    private static void runThreads(int count) throws InterruptedException {
        AtomicLong sum = new AtomicLong();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            int mine = i;
            Thread thread = new Thread(() -> {
                byte[][] kept = new byte[64][];
                for (int j = 0; j < kept.length; j++) {
                    kept[j] = new byte[4096];
                }
                sum.addAndGet(mine + kept.length);
            }, "worker " + i);
            thread.start();
            threads.add(thread);
        }
        for (Thread thread : threads) {
            thread.join();
        }
        expect(sum.get() == (long) count * (count - 1) / 2 + 64L * count, "threads' sum");
        threadsRun += count;
    }

    /** Does nothing where the JDK has no virtual threads. */
    private static void runVirtualThreads(int count) throws Exception {
        Method start;
        try {
            start = Thread.class.getMethod("startVirtualThread", Runnable.class);
        } catch (NoSuchMethodException e) {
            return;
        }
        CountDownLatch done = new CountDownLatch(count);
        AtomicLong sum = new AtomicLong();
        for (int i = 0; i < count; i++) {
            Runnable work = () -> {
                byte[][] kept = new byte[16][];
                for (int j = 0; j < kept.length; j++) {
                    kept[j] = new byte[4096];
                    Thread.yield();
                }
                sum.addAndGet(kept.length);
                done.countDown();
            };
            start.invoke(null, work);
        }
        done.await();
        expect(sum.get() == 16L * count, "virtual threads' sum");
        virtualRun += count;
    }

    private static void loadAndForget(int count) throws ReflectiveOperationException {
        String name = Recorded.class.getName() + "$Visitor";
        for (int i = 0; i < count; i++) {
            Class<?> visitor = new OneClassLoader().loadClass(name);
            ((Runnable) visitor.getDeclaredConstructor().newInstance()).run();
            unloaded++;
        }
    }

    private static void work(long millis) throws Exception {
        long end = System.nanoTime() + millis * 1_000_000;
        while (System.nanoTime() < end) {
            churn(20);
            runThreads(5);
            loadAndForget(3);
            check();
        }
    }

    private static void check() {
        int expected = nextNumber - HEADS.size();
        for (Head head : HEADS) {
            expect(head.number == expected++, "order of heads");
            expect(head.check == head.number * 31 + 7, "content of a head");
        }
    }

    private static void expect(boolean holds, String what) {
        if (!holds) {
            System.err.println("WRONG " + what);
            Runtime.getRuntime().halt(42);
        }
    }

    private static void obey(String command) throws Exception {
        String[] words = command.split(" ");
        int number = words.length > 1 ? Integer.parseInt(words[1]) : 0;
        switch (words[0]) {
            case "heads":
                addHeads(number);
                break;
            case "drop":
                HEADS.subList(0, number).clear();
                break;
            case "churn":
                churn(number);
                break;
            case "gc":
                System.gc();
                break;
            case "threads":
                runThreads(number);
                break;
            case "virtual":
                runVirtualThreads(number);
                break;
            case "unload":
                loadAndForget(number);
                break;
            case "run":
                work(number);
                break;
            case "exit":
                System.exit(0);
                break;
            default:
                throw new IllegalArgumentException(command);
        }
    }

    public static void main(String[] args) throws Exception {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long thread = Thread.currentThread().getId();
        addHeads(Console.argument(args, 0, 0));
        String command;
        do {
            check();
            Console.truth("heads", HEADS.size());
            Console.truth("first head", nextNumber - HEADS.size());
            Console.truth("threads run", threadsRun);
            Console.truth("virtual threads run", virtualRun);
            Console.truth("classes forgotten", unloaded);
            Console.truth("allocated bytes", threads.getThreadAllocatedBytes(thread));
            command = Console.ready();
            if (command != null) {
                obey(command);
            }
        } while (command != null);
    }
}
