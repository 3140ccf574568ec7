package anthill.leaks;

import io.netty.util.HashedWheelTimer;
import io.netty.util.Timeout;
import io.netty.util.TimerTask;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Retries are planned with Netty's HashedWheelTimer, for hours later, and forgotten when the first try succeeds. */
final class WheelTimeouts {
    private WheelTimeouts() {}

    public static void main(String[] args) throws Exception {
        RetryPlanner planner = new RetryPlanner();
        Leak.of("retries that nobody needs any more are not cancelled in the HashedWheelTimer")
                .culprit("io.netty.util.HashedWheelTimer.wheel")
                .also(
                        "anthill.leaks.RetryPlanner.timer",
                        "io.netty.util.HashedWheelTimer.timeouts",
                        "thread retries-1-1")
                .element(Retry.class)
                .run(args, planner::deliver);
    }
}

final class RetryPlanner {
    private final HashedWheelTimer timer =
            new HashedWheelTimer(new DefaultThreadFactory("retries", true), 100, TimeUnit.MILLISECONDS, 512);

    /** The delivery succeeds at once. */
    void deliver(int number) {
        timer.newTimeout(new Retry(number), 6 + number % 7, TimeUnit.HOURS);
    }
}

final class Retry implements TimerTask {
    private final String recipient;
    private final List<String> lines = new ArrayList<>();

    Retry(int number) {
        recipient = Words.mail(number);
        for (int i = 0; i < 6; i++) {
            lines.add(Words.text(number + i, 120));
        }
    }

    @Override
    public void run(Timeout timeout) {
        lines.add("again to " + recipient);
    }
}
