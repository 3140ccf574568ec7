package anthill.samples;

import java.io.IOException;
import java.util.HashMap;
import java.util.Map;

/**
 * One map with very many entries, and an array with gaps.
 *
 * <p>Arguments: number of entries (default 1,000,000).
 */
final class LargeMap {
    static final Map<String, Integer> users = new HashMap<>();
    static final Integer[] gaps = new Integer[10_000];

    private LargeMap() {}

    public static void main(String[] args) throws IOException {
        int entries = Console.argument(args, 0, 1_000_000);
        for (int i = 0; i < entries; i++) {
            users.put("user " + i, i);
        }
        for (int i = 0; i < gaps.length; i += 100) {
            gaps[i] = 1_000_000 + i;
        }
        Console.truth("entries", users.size());
        Console.readyUntilClosed();
    }
}
