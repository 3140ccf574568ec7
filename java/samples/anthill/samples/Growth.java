package anthill.samples;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A map that grows on each line {@code grow}, among many collections that stay as they are, a bounded
 * cache whose entries change, and a list that grows and is dropped.
 *
 * <p>Arguments: entries of a step (default 5,000), stable lists (default 10,000).
 */
final class Growth {
    static final Map<Integer, byte[]> leak = new HashMap<>();
    static final List<List<String>> stable = new ArrayList<>();
    static final Map<Integer, byte[]> cache = new Bounded();
    static List<byte[]> passing = new ArrayList<>();

    private static final int ENTRY_BYTES = 200;

    private Growth() {}

    static final class Bounded extends LinkedHashMap<Integer, byte[]> {
        private static final long serialVersionUID = 1;
        private static final int MOST = 1000;

        @Override
        protected boolean removeEldestEntry(Map.Entry<Integer, byte[]> eldest) {
            return size() > MOST;
        }
    }

    static void grow(int step, int entries) {
        for (int i = 0; i < entries; i++) {
            int key = step * entries + i;
            leak.put(key, new byte[ENTRY_BYTES]);
            cache.put(key, new byte[ENTRY_BYTES]);
            if (step == 1) {
                passing.add(new byte[ENTRY_BYTES]);
            }
        }
        if (step > 1) {
            passing = null;
        }
    }

    static void tell() {
        Console.truth("leak", leak.size());
        Console.truth("cache", cache.size());
        Console.truth("stable", stable.size());
        Console.truth("passing", passing == null ? 0 : passing.size());
    }

    public static void main(String[] args) throws IOException {
        int entries = Console.argument(args, 0, 5_000);
        int lists = Console.argument(args, 1, 10_000);
        for (int i = 0; i < lists; i++) {
            stable.add(new ArrayList<>(List.of("list " + i, "stays as it is")));
        }
        int step = 0;
        do {
            grow(step, entries);
            step++;
            tell();
        } while (isAskedFor(leak));
    }

    /** The map is in a static field and, while the program waits, in a local variable. */
    private static boolean isAskedFor(Map<?, ?> map) throws IOException {
        return Console.ready() != null && !map.isEmpty();
    }
}
