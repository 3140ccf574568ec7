package anthill.leaks;

import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;

/**
 * Each request schedules its own timeout of a day and cancels it when the answer is there. The
 * executor keeps cancelled tasks until their time has come.
 */
final class CancelledTimers {
    private CancelledTimers() {}

    public static void main(String[] args) throws Exception {
        RequestWatch watch = new RequestWatch();
        Leak.of("cancelled timeouts stay in the queue of the ScheduledThreadPoolExecutor until their time")
                .culprit("java.util.concurrent.ThreadPoolExecutor.workQueue")
                .also(
                        "anthill.leaks.RequestWatch.timeouts",
                        "java.util.concurrent.ScheduledThreadPoolExecutor$DelayedWorkQueue.queue",
                        "thread request-watch")
                .element("java.util.concurrent.ScheduledThreadPoolExecutor$ScheduledFutureTask")
                .items(40_000)
                .run(args, number -> watch.begin(number).cancel(false));
    }
}

final class RequestWatch {
    private final ScheduledExecutorService timeouts = Executors.newScheduledThreadPool(1, work -> {
        Thread thread = new Thread(work, "request-watch");
        thread.setDaemon(true);
        return thread;
    });
    private volatile int expired;

    ScheduledFuture<?> begin(int request) {
        return timeouts.schedule(() -> expired = request, 1, TimeUnit.DAYS);
    }
}
