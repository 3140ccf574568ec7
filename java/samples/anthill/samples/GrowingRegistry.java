package anthill.samples;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * One data structure that grows beside one that stays as it is. The registry starts with one step's
 * worth of entries and gets as many more on each line {@code grow}.
 *
 * <p>Arguments: entries in a step (default 20,000), entries of the constant structure (default 5,000).
 */
final class GrowingRegistry {
    private static final int TOPICS = 100;

    /** Listeners by topic; nobody ever unregisters. */
    static final Map<String, List<Listener>> registry = new HashMap<>();

    static final List<Setting> settings = new ArrayList<>();

    private GrowingRegistry() {}

    static final class Listener {
        final byte[] buffer = new byte[200];
        final int step;

        Listener(int step) {
            this.step = step;
        }
    }

    static final class Setting {
        final int value;

        Setting(int value) {
            this.value = value;
        }
    }

    public static void main(String[] args) throws IOException {
        int perStep = Console.argument(args, 0, 20_000);
        int constant = Console.argument(args, 1, 5_000);
        for (int i = 0; i < constant; i++) {
            settings.add(new Setting(i));
        }

        int step = 1;
        grow(perStep, step);
        String command;
        do {
            Console.truth("step", step);
            Console.truth("registry entries", (long) step * perStep);
            Console.truth("registry lists", registry.size());
            Console.truth("constant entries", constant);
            command = Console.ready();
            if ("grow".equals(command)) {
                step++;
                grow(perStep, step);
            }
        } while (command != null);
    }

    private static void grow(int entries, int step) {
        for (int i = 0; i < entries; i++) {
            registry.computeIfAbsent("topic " + i % TOPICS, topic -> new ArrayList<>())
                    .add(new Listener(step));
        }
    }
}
