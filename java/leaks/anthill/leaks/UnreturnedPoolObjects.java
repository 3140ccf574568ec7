package anthill.leaks;

import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;
import org.apache.commons.pool2.BasePooledObjectFactory;
import org.apache.commons.pool2.PooledObject;
import org.apache.commons.pool2.impl.DefaultPooledObject;
import org.apache.commons.pool2.impl.GenericObjectPool;
import org.apache.commons.pool2.impl.GenericObjectPoolConfig;

/**
 * Renderers are borrowed from a pool without a maximum. A report that turns out to be empty returns
 * early, and its renderer is never given back.
 */
final class UnreturnedPoolObjects {
    private UnreturnedPoolObjects() {}

    public static void main(String[] args) throws Exception {
        ReportService reports = new ReportService();
        Leak.of("renderers of empty reports are borrowed from a GenericObjectPool and never returned")
                .culprit("org.apache.commons.pool2.impl.GenericObjectPool.allObjects")
                .also("anthill.leaks.ReportService.renderers")
                .element(PdfRenderer.class)
                .run(args, number -> reports.print(number, 0));
    }
}

final class ReportService {
    private final GenericObjectPool<PdfRenderer> renderers;

    ReportService() {
        GenericObjectPoolConfig<PdfRenderer> config = new GenericObjectPoolConfig<>();
        config.setMaxTotal(-1);
        config.setJmxEnabled(false);
        renderers = new GenericObjectPool<>(new PdfRendererFactory(), config);
    }

    int print(int report, int lines) throws Exception {
        PdfRenderer renderer = renderers.borrowObject();
        if (lines == 0) {
            return 0;
        }
        try {
            return renderer.render("report " + report, lines);
        } finally {
            renderers.returnObject(renderer);
        }
    }
}

final class PdfRendererFactory extends BasePooledObjectFactory<PdfRenderer> {
    private int created;

    @Override
    public PdfRenderer create() {
        return new PdfRenderer(created++);
    }

    @Override
    public PooledObject<PdfRenderer> wrap(PdfRenderer renderer) {
        return new DefaultPooledObject<>(renderer);
    }
}

final class PdfRenderer {
    private final ByteBuffer page = ByteBuffer.allocate(1_024);
    private final Map<String, String> fonts = new HashMap<>();

    PdfRenderer(int number) {
        fonts.put("title", "Helvetica " + number);
        fonts.put("text", "Times " + number);
    }

    int render(String title, int lines) {
        page.clear();
        page.put(title.getBytes(java.nio.charset.StandardCharsets.UTF_8));
        return lines * fonts.size();
    }
}
