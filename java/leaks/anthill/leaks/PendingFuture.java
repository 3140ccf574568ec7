package anthill.leaks;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/**
 * Requests wait for the configuration, which is a CompletableFuture that nobody completes because its
 * server was never found: every request is one more dependent of it.
 */
final class PendingFuture {
    private PendingFuture() {}

    public static void main(String[] args) throws Exception {
        RoutingService service = new RoutingService();
        Leak.of("a future that never completes collects a dependent for each request")
                .culprit("java.util.concurrent.CompletableFuture.stack")
                .also("anthill.leaks.RoutingService.configuration")
                .element(RoutingRequest.class)
                .run(args, service::route);
    }
}

final class RoutingService {
    private final CompletableFuture<String> configuration = new CompletableFuture<>();

    void route(int number) {
        RoutingRequest request = new RoutingRequest(number);
        configuration.thenApply(String::trim).thenAccept(request::begin);
    }
}

final class RoutingRequest {
    private final Map<String, String> headers = new LinkedHashMap<>();
    private String target;

    RoutingRequest(int number) {
        headers.put("From", Words.mail(number));
        headers.put("Accept-Language", Words.city(number));
        headers.put("Cookie", Words.text(number, 500));
    }

    void begin(String configuration) {
        target = configuration + headers.get("From");
    }

    String target() {
        return target;
    }
}
