package anthill.samples;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;

/** What the server shares with its web applications: a class of the parent loader. */
public final class SharedRegistry {
    private static final List<Object> entries = new ArrayList<>();
    private static final Queue<Runnable> tasks = new ArrayDeque<>();

    private SharedRegistry() {}

    /** Keeps {@code entry} for good. */
    public static void add(Object entry) {
        entries.add(entry);
    }

    /** Runs {@code task} once, at some later time. */
    public static void runLater(Runnable task) {
        tasks.add(task);
    }

    static void runTasks() {
        while (!tasks.isEmpty()) {
            tasks.remove().run();
        }
    }
}
