package anthill.samples;

import java.io.IOException;

/**
 * Objects whose fields are counted, and a list of its own making: what each object spends its bytes on, and
 * what part it plays in a collection.
 *
 * <p>Arguments: pairs (default 1,000).
 */
final class Health {
    /** Two references, 12 bytes of primitives. */
    static final class Pair {
        final int number;
        final long stamp;
        Object left;
        Object right;

        Pair(int number) {
            this.number = number;
            this.stamp = number;
        }
    }

    /** A link of the list; the last one has no next and so looks like any other object. */
    static final class Link {
        final Pair item;
        final Link next;

        Link(Pair item, Link next) {
            this.item = item;
            this.next = next;
        }
    }

    static final class Links {
        Link first;
    }

    static final class Cell {
        final short[] codes;

        Cell(int length) {
            codes = new short[length];
        }
    }

    static final Links links = new Links();
    static Pair[] half;
    static Cell[] cells;

    private Health() {}

    public static void main(String[] args) throws IOException {
        int pairs = Console.argument(args, 0, 1_000);
        half = new Pair[2 * pairs];
        cells = new Cell[pairs];
        int set = 0;
        long codes = 0;
        Pair before = null;
        for (int i = 0; i < pairs; i++) {
            Pair pair = new Pair(i);
            pair.left = before;
            pair.right = i % 4 == 0 ? links : null;
            set += (pair.left == null ? 0 : 1) + (pair.right == null ? 0 : 1);
            half[i] = pair;
            links.first = new Link(pair, links.first);
            cells[i] = new Cell(i);
            codes += i;
            before = i % 2 == 0 ? pair : null;
        }

        Console.truth("pairs", pairs);
        Console.truth("bytes of primitives in pairs", 12L * pairs);
        Console.truth("references in pairs", set);
        Console.truth("null references in pairs", 2 * pairs - set);
        Console.truth("pairs that refer to a pair", pairs / 2);
        Console.truth("null references in Pair[]", half.length - pairs);
        Console.truth("bytes of primitives in short[] of cells", 2 * codes);
        Console.truth("links with a next", pairs - 1);
        Console.readyUntilClosed();
    }
}
