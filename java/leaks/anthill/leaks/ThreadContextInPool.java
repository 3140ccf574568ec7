package anthill.leaks;

import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadFactory;
import org.apache.logging.log4j.ThreadContext;

/**
 * Each request puts its payload into Log4j's thread context, for the log, and does not clear it: a
 * thread of the pool keeps the last one. The pool grows to 200 threads.
 */
final class ThreadContextInPool {
    private static final int MOST_THREADS = 200;

    private ThreadContextInPool() {}

    public static void main(String[] args) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(MOST_THREADS, new RequestThreads());
        Leak.of("pool threads keep the payload that their last request put into the thread context")
                .culprit("org.apache.logging.log4j.spi.DefaultThreadContextMap.localState")
                .also(
                        "org.apache.logging.log4j.ThreadContext.contextMap",
                        "java.lang.Thread.threadLocals",
                        "thread request-0")
                .element(RequestThread.class)
                .items(MOST_THREADS / 2)
                .run(args, number -> pool.submit(new PaymentRequest(number)).get());
    }
}

final class RequestThreads implements ThreadFactory {
    private int started;

    @Override
    public Thread newThread(Runnable work) {
        return new RequestThread(work, "request-" + started++);
    }
}

final class RequestThread extends Thread {
    RequestThread(Runnable work, String name) {
        super(work, name);
        setDaemon(true);
    }
}

final class PaymentRequest implements Runnable {
    private final int number;

    PaymentRequest(int number) {
        this.number = number;
    }

    @Override
    public void run() {
        ThreadContext.put("request", Integer.toString(number));
        ThreadContext.put("user", Words.mail(number));
        ThreadContext.put("payload", "<payment>" + Words.text(number, 40_000) + "</payment>");
    }
}
