package anthill.leaks;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** Every editor tab listens to the theme of the application, which is a singleton; no closed tab stops to. */
final class CopyOnWriteListeners {
    private CopyOnWriteListeners() {}

    public static void main(String[] args) throws Exception {
        Leak.of("closed editor tabs are still listeners of the theme, a singleton")
                .culprit("anthill.leaks.ThemeManager.listeners")
                .also("anthill.leaks.ThemeManager$Holder.INSTANCE")
                .pattern("listeners that were not removed")
                .element(EditorTab.class)
                .run(args, number -> new EditorTab(number).close());
    }
}

final class ThemeManager {
    private final List<ThemeListener> listeners = new CopyOnWriteArrayList<>();

    private static final class Holder {
        static final ThemeManager INSTANCE = new ThemeManager();
    }

    static ThemeManager getInstance() {
        return Holder.INSTANCE;
    }

    void addListener(ThemeListener listener) {
        listeners.add(listener);
    }

    void setTheme(String theme) {
        listeners.forEach(listener -> listener.themeChanged(theme));
    }
}

interface ThemeListener {
    void themeChanged(String theme);
}

final class EditorTab {
    private final char[] document;
    private String theme = "light";

    EditorTab(int number) {
        document = Words.text(number, 1_000).toCharArray();
        ThemeManager.getInstance().addListener(changed -> theme = changed);
    }

    void close() {
        document[0] = theme.charAt(0);
    }
}
