package anthill.samples;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * Windows that were closed but never unsubscribed: a bus in a static field keeps their listeners, and
 * every listener is a lambda that remembers its window.
 *
 * <p>Arguments: windows (default 1,000).
 */
final class EventBus {
    static final EventBus INSTANCE = new EventBus();

    private final List<Runnable> listeners = new ArrayList<>();

    private EventBus() {}

    static final class Window {
        private int events;
        private final byte[] pixels = new byte[1_000];

        void open() {
            INSTANCE.listeners.add(() -> events += pixels.length);
        }
    }

    public static void main(String[] args) throws IOException {
        int windows = Console.argument(args, 0, 1_000);
        for (int i = 0; i < windows; i++) {
            new Window().open();
        }
        INSTANCE.listeners.forEach(Runnable::run);

        Console.truth("windows", windows);
        Console.readyUntilClosed();
    }
}
