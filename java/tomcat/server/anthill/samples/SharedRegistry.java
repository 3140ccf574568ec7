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

    /**
     * Starts a thread of the server's own. It inherits the access-control context of whoever calls this: up to
     * JDK 23, the protection domains of all classes on the stack.
     */
    public static void startHelper() {
        Thread helper = new Thread(SharedRegistry::waitForever, "server-helper");
        helper.setContextClassLoader(SharedRegistry.class.getClassLoader());
        helper.start();
    }

    private static void waitForever() {
        try {
            Thread.sleep(Long.MAX_VALUE);
        } catch (InterruptedException end) {
            Thread.currentThread().interrupt();
        }
    }

    static void runTasks() {
        while (!tasks.isEmpty()) {
            tasks.remove().run();
        }
    }
}
