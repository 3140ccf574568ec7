package anthill.leaks;

import java.util.LinkedHashMap;
import java.util.Map;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Sinks;

/**
 * A server pushes notifications to browsers through one multicast sink. A browser that goes away only
 * marks its connection as closed; its subscription to the sink is never cancelled.
 */
final class ReactorSink {
    private ReactorSink() {}

    public static void main(String[] args) throws Exception {
        NotificationHub.start();
        Leak.of("connections that have closed are still subscribed to the hub's Sinks.Many")
                .culprit("reactor.core.publisher.SinkManyBestEffort.subscribers")
                .also("anthill.leaks.NotificationHub.hub", "anthill.leaks.NotificationHub.sink")
                .element(BrowserConnection.class)
                .run(args, number -> {
                    BrowserConnection connection = new BrowserConnection(number);
                    connection.receive(NotificationHub.get().notifications());
                    connection.closed = true;
                });
    }
}

final class NotificationHub {
    private static NotificationHub hub;

    private final Sinks.Many<String> sink = Sinks.many().multicast().directBestEffort();

    static void start() {
        hub = new NotificationHub();
    }

    static NotificationHub get() {
        return hub;
    }

    Flux<String> notifications() {
        return sink.asFlux();
    }
}

final class BrowserConnection {
    final Map<String, String> headers = new LinkedHashMap<>();
    boolean closed;
    private String last;

    BrowserConnection(int number) {
        headers.put("Host", "push.example.org");
        headers.put("User-Agent", Words.text(number, 120));
        headers.put("Cookie", "session=" + Words.text(number, 300));
        headers.put("Last-Event-ID", Integer.toString(number));
        headers.put("Referer", "https://example.org/orders/" + number);
    }

    void receive(Flux<String> notifications) {
        notifications.filter(text -> !closed).subscribe(text -> last = text);
    }

    String last() {
        return last;
    }
}
