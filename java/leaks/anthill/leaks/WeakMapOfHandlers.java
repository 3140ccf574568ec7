package anthill.leaks;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;

/** Handlers of connections are kept in a WeakHashMap, and each is an inner class of its own key. */
final class WeakMapOfHandlers {
    private WeakMapOfHandlers() {}

    public static void main(String[] args) throws Exception {
        Leak.of("a WeakHashMap whose values refer to their keys by the hidden reference of an inner class")
                .culprit("anthill.leaks.ConnectionTracker.HANDLERS")
                .element(TrackedConnection.class)
                .run(args, number -> new TrackedConnection(number).open());
    }
}

final class ConnectionTracker {
    static final Map<TrackedConnection, Runnable> HANDLERS = Collections.synchronizedMap(new WeakHashMap<>());

    private ConnectionTracker() {}
}

final class TrackedConnection {
    private final List<String> log = new ArrayList<>();

    TrackedConnection(int number) {
        for (int i = 0; i < 6; i++) {
            log.add(Words.text(number, 120));
        }
    }

    void open() {
        ConnectionTracker.HANDLERS.put(this, new Runnable() {
            @Override
            public void run() {
                log.add("closed");
            }
        });
    }
}
