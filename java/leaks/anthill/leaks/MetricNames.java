package anthill.leaks;

import com.codahale.metrics.MetricRegistry;
import com.codahale.metrics.SharedMetricRegistries;

/** Dropwizard histograms that are named after tenants, of which some are created for every trial account. */
final class MetricNames {
    private MetricNames() {}

    public static void main(String[] args) throws Exception {
        Leak.of("histograms named after trial accounts are never removed from the metric registry")
                .culprit("com.codahale.metrics.MetricRegistry.metrics")
                .also("com.codahale.metrics.SharedMetricRegistries.REGISTRIES")
                .element("com.codahale.metrics.Histogram")
                .items(300)
                .run(args, UploadMeter::upload);
    }
}

final class UploadMeter {
    private static final String REGISTRY = "uploads";

    private UploadMeter() {}

    static void upload(int account) {
        MetricRegistry metrics = SharedMetricRegistries.getOrCreate(REGISTRY);
        for (int i = 0; i < 100; i++) {
            metrics.histogram(MetricRegistry.name("uploads", "trial-" + account, "bytes")).update(1_000L * i + account);
        }
    }
}
