package anthill.leaks;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * Invoices are mailed by a single thread, which waits for a mail server that does not answer. The
 * executor's queue has no limit.
 */
final class ExecutorBacklog {
    private ExecutorBacklog() {}

    public static void main(String[] args) throws Exception {
        InvoiceMailer.INSTANCE.start();
        Leak.of("mails wait in the unbounded queue of an executor whose only thread is stuck")
                .culprit("java.util.concurrent.ThreadPoolExecutor.workQueue")
                .also("anthill.leaks.InvoiceMailer.mails", "anthill.leaks.InvoiceMailer.INSTANCE", "thread mailer")
                .element(InvoiceMail.class)
                .run(args, InvoiceMailer.INSTANCE::send);
    }
}

final class InvoiceMailer {
    static final InvoiceMailer INSTANCE = new InvoiceMailer();

    private final ExecutorService mails = Executors.newSingleThreadExecutor(work -> {
        Thread thread = new Thread(work, "mailer");
        thread.setDaemon(true);
        return thread;
    });
    private final CountDownLatch serverAnswers = new CountDownLatch(1);

    void start() {
        mails.execute(this::connect);
    }

    void send(int number) {
        mails.execute(new InvoiceMail(Words.mail(number), "Invoice " + number, Words.text(number, 1_200)));
    }

    private void connect() {
        try {
            serverAnswers.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}

final class InvoiceMail implements Runnable {
    private final String recipient;
    private final String subject;
    private final String body;
    private boolean sent;

    InvoiceMail(String recipient, String subject, String body) {
        this.recipient = recipient;
        this.subject = subject;
        this.body = body;
    }

    @Override
    public void run() {
        sent = !recipient.isEmpty() && !subject.isEmpty() && !body.isEmpty();
    }

    boolean isSent() {
        return sent;
    }
}
