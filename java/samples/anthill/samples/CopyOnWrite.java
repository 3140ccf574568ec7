package anthill.samples;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;

/**
 * An array that a larger one replaces for each new entry, and a map of as many entries. Both grow on each
 * line {@code grow}; the first one also fills a list that stays as it is afterwards. {@code visit} has a
 * thread stop while it visits the map, so that a local variable holds its table; {@code clear} empties
 * array and map.
 *
 * <p>Arguments: entries in a step (default 2,000).
 */
final class CopyOnWrite {
    static volatile Entry[] entries = new Entry[0];
    static final Map<Integer, Entry> registry = new HashMap<>();
    static final List<Entry> settings = new ArrayList<>();

    private CopyOnWrite() {}

    static final class Entry {
        final byte[] page = new byte[1_000];
    }

    public static void main(String[] args) throws IOException, InterruptedException {
        int perStep = Console.argument(args, 0, 2_000);
        String command;
        do {
            Console.truth("entries", entries.length);
            Console.truth("registry", registry.size());
            Console.truth("settings", settings.size());
            command = Console.ready();
            if ("grow".equals(command)) {
                grow(perStep);
            } else if ("visit".equals(command)) {
                visit();
            } else if ("clear".equals(command)) {
                entries = new Entry[0];
                registry.clear();
            }
        } while (command != null);
    }

    private static void grow(int perStep) {
        for (int i = 0; i < perStep; i++) {
            Entry[] larger = Arrays.copyOf(entries, entries.length + 1);
            larger[entries.length] = new Entry();
            entries = larger;
            registry.put(registry.size(), new Entry());
            if (settings.size() < perStep) {
                settings.add(new Entry());
            }
        }
    }

    private static void visit() throws InterruptedException {
        CountDownLatch inside = new CountDownLatch(1);
        Thread visitor = new Thread(() -> registry.forEach((key, entry) -> {
            inside.countDown();
            stop();
        }));
        visitor.setDaemon(true);
        visitor.start();
        inside.await();
    }

    private static void stop() {
        try {
            new CountDownLatch(1).await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
