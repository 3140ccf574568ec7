package anthill.samples;

import java.io.IOException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Sessions that nobody ends, until the heap is full. Run it with {@code
 * -XX:+HeapDumpOnOutOfMemoryError} and a small heap: the JVM dumps itself at the end. With an argument
 * it begins at the first line of input.
 */
final class Sessions {
    static final Map<String, Session> open = new ConcurrentHashMap<>();

    private static int dumped;

    private Sessions() {}

    static final class Session {
        final String user;
        final byte[] page = new byte[2_000];

        Session(String user) {
            this.user = user;
        }
    }

    public static void main(String[] args) throws IOException {
        if (args.length > 0) {
            Console.ready();
        }
        try {
            for (int i = 0; ; i++) {
                String user = "user " + i;
                open.put(user, new Session(user));
            }
        } catch (OutOfMemoryError e) {
            // The dump is written; what follows needs memory again.
            dumped = open.size();
            open.clear();
        }
        Console.truth("sessions", dumped);
        Console.readyUntilClosed();
    }
}
