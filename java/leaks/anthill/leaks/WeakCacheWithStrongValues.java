package anthill.leaks;

import com.google.common.cache.CacheBuilder;
import com.google.common.cache.CacheLoader;
import com.google.common.cache.LoadingCache;
import java.util.ArrayList;
import java.util.List;

/** Layouts are cached with weak keys, their pages; but a layout refers to its page, so no page ever goes. */
final class WeakCacheWithStrongValues {
    private WeakCacheWithStrongValues() {}

    public static void main(String[] args) throws Exception {
        Leak.of("a cache with weak keys whose values refer to their keys")
                .culprit("anthill.leaks.LayoutEngine.layouts")
                .also("anthill.leaks.LayoutEngine.engine", "anthill.leaks.Layout.page")
                .element(Page.class)
                .run(args, number -> LayoutEngine.get().print(new Page(number)));
    }
}

final class LayoutEngine {
    private static LayoutEngine engine;

    private final LoadingCache<Page, Layout> layouts =
            CacheBuilder.newBuilder().weakKeys().build(CacheLoader.from(Layout::new));

    static synchronized LayoutEngine get() {
        if (engine == null) {
            engine = new LayoutEngine();
        }
        return engine;
    }

    int print(Page page) {
        return layouts.getUnchecked(page).lines.size();
    }
}

final class Page {
    final String title;
    final String text;

    Page(int number) {
        title = "Page " + number;
        text = Words.text(number, 600);
    }
}

final class Layout {
    final Page page;
    final List<String> lines = new ArrayList<>();

    Layout(Page page) {
        this.page = page;
        for (int i = 0; i < page.text.length(); i += 80) {
            lines.add(page.text.substring(i, Math.min(i + 80, page.text.length())));
        }
    }
}
