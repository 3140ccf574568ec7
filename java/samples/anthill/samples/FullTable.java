package anthill.samples;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * A list in a static field that takes up the whole heap: there is no memory for a larger array when the next row is added.
 */
final class FullTable {
    static List<Object> rows = new ArrayList<>();

    private FullTable() {}

    private static void fill() {
        Object row = new Object();
        while (true) {
            rows.add(row);
        }
    }

    public static void main(String[] args) throws IOException {
        try {
            fill();
        } catch (OutOfMemoryError e) {
            int added = rows.size();
            rows = null;
            Console.truth("rows", added);
        }
        Console.readyUntilClosed();
    }
}
