package anthill.leaks;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;

/** Every request is timed by Micrometer with the user's address as a tag, so each user gets a meter. */
final class MetricTags {
    private MetricTags() {}

    public static void main(String[] args) throws Exception {
        CheckoutController controller = new CheckoutController(new SimpleMeterRegistry());
        Leak.of("a timer's tag has the user's address, so that the registry keeps a timer for each user")
                .culprit("io.micrometer.core.instrument.MeterRegistry.meterMap")
                .also(
                        "io.micrometer.core.instrument.MeterRegistry.preFilterIdToMeterMap",
                        "io.micrometer.core.instrument.MeterRegistry.meterToPreFilterIdMap",
                        "anthill.leaks.CheckoutController.meters")
                .element("io.micrometer.core.instrument.cumulative.CumulativeTimer")
                .items(4_000)
                .run(args, controller::checkout);
    }
}

final class CheckoutController {
    private final MeterRegistry meters;

    CheckoutController(MeterRegistry meters) {
        this.meters = meters;
    }

    void checkout(int request) {
        Timer.builder("http.server.requests")
                .description("Time to handle a request")
                .tag("uri", "/checkout")
                .tag("method", "POST")
                .tag("user", Words.mail(request))
                .register(meters)
                .record(Duration.ofMillis(20 + request % 100));
    }
}
