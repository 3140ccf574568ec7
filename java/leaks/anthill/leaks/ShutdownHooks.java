package anthill.leaks;

import java.util.HashMap;
import java.util.Map;

/** Each workspace adds a shutdown hook that saves it, also those that were closed long ago. */
final class ShutdownHooks {
    private ShutdownHooks() {}

    public static void main(String[] args) throws Exception {
        Leak.of("each workspace registers a shutdown hook and never removes it")
                .culprit("java.lang.ApplicationShutdownHooks.hooks")
                .element(Workspace.class)
                .items(1_000)
                .run(args, number -> new Workspace(number).open());
    }
}

final class Workspace {
    private final Map<String, String> files = new HashMap<>();
    private boolean saved;

    Workspace(int number) {
        for (int i = 0; i < 12; i++) {
            files.put("file-" + number + "-" + i, Words.text(number, 150));
        }
    }

    void open() {
        Runtime.getRuntime().addShutdownHook(new Thread(this::save, "save-workspace"));
    }

    private void save() {
        saved = true;
    }

    boolean isSaved() {
        return saved;
    }
}
