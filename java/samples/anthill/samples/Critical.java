package anthill.samples;

import java.util.Random;
import java.util.zip.Deflater;

/**
 * A program at the edge of its heap: a thread is nearly always in JNI critical sections, which collections wait for, and all
 * others allocate. They hold objects that compiled code puts into the heap only if somebody looks at it.
 *
 * <p>The argument says for how many milliseconds each thread rests after some allocations. The first line on standard input
 * lets it begin.
 */
final class Critical {
    private static final int ALLOCATING_THREADS = 32;
    private static final int DEPTH = 6;

    private static volatile boolean working;
    private static volatile Object last;

    /** Replaced by its fields where it does not leave a compiled method. */
    private static final class Local {
        long a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8;
        long i = 1, j = 2, k = 3, l = 4, m = 5, n = 6, o = 7, p = 8;

        long sum() {
            return a + b + c + d + e + f + g + h + i + j + k + l + m + n + o + p;
        }
    }

    private static long allocate(int depth, int size) {
        Local local = new Local();
        local.a = size;
        local.p = depth;
        if (depth > 0) {
            local.b = allocate(depth - 1, size);
        } else {
            last = new byte[size];
        }
        return local.sum();
    }

    private static void allocateForever(int seed, int pause) {
        Random random = new Random(seed);
        for (int i = 0; true; i++) {
            try {
                if (!working || pause > 0 && i % 16 == 0) {
                    Thread.sleep(Math.max(pause, 1));
                }
                if (working) {
                    allocate(DEPTH, 1024 + random.nextInt(8192));
                }
            } catch (OutOfMemoryError | InterruptedException e) {
                // Some collectors give up when a critical section lasts.
                Thread.yield();
            }
        }
    }

    /** The JDK's library compresses an array within one critical section. */
    private static void compressForever() {
        byte[] input = new byte[256 << 10];
        new Random(1).nextBytes(input);
        byte[] output = new byte[2 * input.length];
        Deflater deflater = new Deflater(9);
        while (true) {
            deflater.reset();
            deflater.setInput(input);
            deflater.finish();
            deflater.deflate(output);
        }
    }

    private static void start(String name, Runnable work) {
        Thread thread = new Thread(work, name);
        thread.setDaemon(true);
        thread.start();
    }

    public static void main(String[] args) throws Exception {
        int pause = Console.argument(args, 0, 0);
        start("critical", Critical::compressForever);
        for (int i = 0; i < ALLOCATING_THREADS; i++) {
            int seed = i;
            start("allocating " + i, () -> allocateForever(seed, pause));
        }
        Console.ready();
        working = true;
        // There may be no memory for an answer.
        while (System.in.read() >= 0) {
            continue;
        }
        Runtime.getRuntime().halt(0);
    }
}
