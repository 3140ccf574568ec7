package anthill.leaks;

import ch.qos.logback.classic.AsyncAppender;
import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import java.util.concurrent.CountDownLatch;
import org.slf4j.LoggerFactory;

/**
 * Logback's asynchronous appender was given a huge queue so that it never blocks. The log server it
 * writes to has stopped reading.
 */
final class AsyncLogQueue {
    private AsyncLogQueue() {}

    public static void main(String[] args) throws Exception {
        LogSetup.setUp();
        ShippingService service = new ShippingService();
        Leak.of("log events wait in the large queue of an AsyncAppender whose own appender is blocked")
                .culprit("ch.qos.logback.core.AsyncAppenderBase.blockingQueue")
                .also("thread AsyncAppender-Worker-remote")
                .element("ch.qos.logback.classic.spi.LoggingEvent")
                .items(5_000)
                .run(args, service::ship);
    }
}

final class LogSetup {
    private LogSetup() {}

    static void setUp() {
        LoggerContext context = (LoggerContext) LoggerFactory.getILoggerFactory();
        Logger root = context.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME);
        root.detachAndStopAllAppenders();
        root.setLevel(Level.INFO);

        LogServerAppender server = new LogServerAppender();
        server.setContext(context);
        server.start();
        AsyncAppender queue = new AsyncAppender();
        queue.setContext(context);
        queue.setName("remote");
        queue.setQueueSize(100_000);
        queue.setDiscardingThreshold(0);
        queue.addAppender(server);
        queue.start();
        root.addAppender(queue);
    }
}

/** Waits for a server that does not read. */
final class LogServerAppender extends AppenderBase<ILoggingEvent> {
    private final CountDownLatch reads = new CountDownLatch(1);

    @Override
    protected void append(ILoggingEvent event) {
        try {
            reads.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}

final class ShippingService {
    private static final org.slf4j.Logger LOG = LoggerFactory.getLogger(ShippingService.class);

    void ship(int parcel) {
        LOG.info("Parcel {} of {} goes to {}: {}", parcel, Words.name(parcel), Words.city(parcel),
                Words.text(parcel, 300));
    }
}
