package anthill.leaks;

import java.nio.ByteBuffer;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hc.client5.http.impl.async.CloseableHttpAsyncClient;
import org.apache.hc.client5.http.impl.async.HttpAsyncClients;
import org.apache.hc.core5.http.EntityDetails;
import org.apache.hc.core5.http.Header;
import org.apache.hc.core5.http.HttpRequest;
import org.apache.hc.core5.http.HttpResponse;
import org.apache.hc.core5.http.nio.AsyncPushConsumer;
import org.apache.hc.core5.http.nio.CapacityChannel;
import org.apache.hc.core5.http.protocol.HttpContext;
import org.apache.hc.core5.reactor.IOReactorConfig;

/**
 * A gateway that starts an Apache HttpAsyncClient for each call of a partner, and closes none. Nothing
 * refers to a client any more but its own threads, and these keep what receives the partner's events.
 */
final class HttpClients {
    private HttpClients() {}

    public static void main(String[] args) throws Exception {
        PartnerGateway gateway = new PartnerGateway();
        Leak.of("asynchronous HTTP clients are started for each call and never closed, so their threads run on")
                .culprit("org.apache.hc.core5.reactor.IOReactorWorker.ioReactor")
                .also(
                        "org.apache.hc.client5.http.impl.async.HttpAsyncClientProtocolNegotiationStarter"
                                + ".exchangeHandlerFactory",
                        "thread httpclient-dispatch-1")
                .element(PartnerEvents.class)
                .items(30)
                .run(args, gateway::call);
    }
}

final class PartnerGateway {
    private int calls;

    void call(int partner) {
        CloseableHttpAsyncClient client = HttpAsyncClients.custom()
                .setUserAgent("gateway/" + partner)
                .setIOReactorConfig(IOReactorConfig.custom().setIoThreadCount(2).build())
                .build();
        PartnerEvents events = new PartnerEvents(partner);
        client.register("partner-" + partner + ".example.org", "/events", () -> events);
        client.start();
        calls++;
    }

    int calls() {
        return calls;
    }
}

/** Receives what the partner's server pushes. */
final class PartnerEvents implements AsyncPushConsumer {
    private final Map<String, String> catalog = new LinkedHashMap<>();
    private final StringBuilder received = new StringBuilder();

    PartnerEvents(int partner) {
        for (int i = 0; i < 150; i++) {
            catalog.put("article-" + partner + "-" + i, Words.text(partner + i, 500));
        }
    }

    @Override
    public void consumePromise(HttpRequest promise, HttpResponse response, EntityDetails entity, HttpContext context) {
        received.append(promise.getPath());
    }

    @Override
    public void failed(Exception cause) {
        received.setLength(0);
    }

    @Override
    public void updateCapacity(CapacityChannel channel) throws java.io.IOException {
        channel.update(Integer.MAX_VALUE);
    }

    @Override
    public void consume(ByteBuffer source) {
        received.append(source.remaining());
    }

    @Override
    public void streamEnd(List<? extends Header> trailers) {
        catalog.putIfAbsent("last", received.toString());
    }

    @Override
    public void releaseResources() {
        received.setLength(0);
    }
}
