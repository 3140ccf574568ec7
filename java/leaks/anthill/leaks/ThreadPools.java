package anthill.leaks;

import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * A report generator makes a thread pool for each report and never shuts it down: its idle threads, with what they
 * remember, stay for good.
 */
final class ThreadPools {
    private ThreadPools() {}

    public static void main(String[] args) throws Exception {
        Leak.of("each report starts a thread pool that is never shut down")
                .culprit("anthill.leaks.ReportGenerator.PAGE")
                .also("thread report-", "java.lang.Thread.threadLocals")
                .element(ReportPage.class)
                .pattern("thread pools that were not shut down")
                .items(60)
                .run(args, number -> new ReportGenerator(number).generate());
    }
}

/** What a thread writes its part of a report to. */
final class ReportPage {
    final byte[] pixels = new byte[60_000];
}

final class ReportGenerator {
    private static final ThreadLocal<ReportPage> PAGE = ThreadLocal.withInitial(ReportPage::new);

    private final int number;

    ReportGenerator(int number) {
        this.number = number;
    }

    void generate() throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(1, work -> {
            Thread thread = new Thread(work, "report-" + number);
            thread.setDaemon(true);
            return thread;
        });
        pool.submit(() -> PAGE.get().pixels[0]++).get();
    }
}
