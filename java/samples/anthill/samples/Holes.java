package anthill.samples;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * Arrays of which a few are dropped here and there: a heap with holes too small to be worth moving
 * everything else, which the JVM therefore fills.
 *
 * <p>Arguments: number of arrays (default 20,000).
 */
final class Holes {
    static final List<byte[]> kept = new ArrayList<>();

    private Holes() {}

    public static void main(String[] args) throws IOException {
        int arrays = Console.argument(args, 0, 20_000);
        for (int i = 0; i < arrays; i++) {
            kept.add(new byte[1000]);
        }
        System.gc();
        for (int i = 0; i < arrays; i += 50) {
            kept.set(i, null);
        }
        Console.truth("dropped", (arrays + 49) / 50);
        Console.readyUntilClosed();
    }
}
