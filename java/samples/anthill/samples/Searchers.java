package anthill.samples;

import java.io.IOException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * One searcher for every thread of a pool, each with a buffer of its own: together they fill the
 * heap, although a single one is small. After Xu and Rountev (2008), the Lucene story.
 *
 * <p>Arguments: threads (default 32), bytes of a searcher's buffer (default 100,000).
 */
final class Searchers {
    private static final ThreadLocal<Searcher> SEARCHER = new ThreadLocal<>();

    private Searchers() {}

    static final class Searcher {
        final byte[] buffer;

        Searcher(int bytes) {
            buffer = new byte[bytes];
        }
    }

    public static void main(String[] args) throws IOException, InterruptedException {
        int threads = Console.argument(args, 0, 32);
        int bytes = Console.argument(args, 1, 100_000);
        ExecutorService pool = Executors.newFixedThreadPool(threads);
        CountDownLatch all = new CountDownLatch(threads);
        for (int i = 0; i < threads; i++) {
            pool.execute(() -> {
                SEARCHER.set(new Searcher(bytes));
                all.countDown();
                awaitAll(all);
            });
        }
        all.await();

        Console.truth("searchers", threads);
        Console.readyUntilClosed();
        pool.shutdownNow();
    }

    /** Keeps the thread busy until every other one has a searcher too. */
    private static void awaitAll(CountDownLatch all) {
        try {
            all.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
