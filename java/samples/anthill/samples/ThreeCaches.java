package anthill.samples;

import java.io.IOException;
import java.util.HashMap;
import java.util.Map;

/**
 * Three caches over rings of doubly linked entries. A ring is reachable as a whole from any of its
 * entries, so it belongs to exactly those caches that hold one of them: to one cache alone, to two
 * together or to all three.
 *
 * <p>Arguments: number of rings (default 7,000), entries in a ring (default 10).
 */
final class ThreeCaches {
    /** Above the range in which {@code Integer.valueOf} hands out shared boxes. */
    private static final int FIRST_KEY = 1_000;

    private static final int BY_ID = 1;
    private static final int BY_NAME = 2;
    private static final int BY_DATE = 4;
    private static final int ALL_OWNERS = BY_ID | BY_NAME | BY_DATE;

    static final Map<Integer, Entry> byId = new HashMap<>();
    static final Map<Integer, Entry> byName = new HashMap<>();
    static final Map<Integer, Entry> byDate = new HashMap<>();

    private ThreeCaches() {}

    static final class Entry {
        Entry next = this;
        Entry previous = this;
        final int ring;

        Entry(int ring) {
            this.ring = ring;
        }

        void append(Entry entry) {
            entry.previous = this;
            entry.next = next;
            next.previous = entry;
            next = entry;
        }
    }

    public static void main(String[] args) throws IOException {
        int rings = Console.argument(args, 0, 7_000);
        int ringSize = Console.argument(args, 1, 10);
        int[] ringsOwnedBy = fill(rings, ringSize);

        Console.truth("entries", rings * ringSize);
        for (int owners = 1; owners <= ALL_OWNERS; owners++) {
            Console.truth("entries owned by " + names(owners), ringsOwnedBy[owners] * ringSize);
        }
        truthOfOne("byId", byId, ringsOwnedBy[BY_ID] * ringSize);
        truthOfOne("byName", byName, ringsOwnedBy[BY_NAME] * ringSize);
        truthOfOne("byDate", byDate, ringsOwnedBy[BY_DATE] * ringSize);
        Console.readyUntilClosed();
    }

    private static int[] fill(int rings, int ringSize) {
        int[] ringsOwnedBy = new int[ALL_OWNERS + 1];
        for (int ring = 0; ring < rings; ring++) {
            int owners = ring % ALL_OWNERS + 1;
            ringsOwnedBy[owners]++;
            Entry entry = ringOf(ringSize, ring);
            // Each owner enters the ring at another entry.
            if ((owners & BY_ID) != 0) {
                byId.put(FIRST_KEY + ring, entry);
            }
            if ((owners & BY_NAME) != 0) {
                byName.put(FIRST_KEY + ring, entry.next);
            }
            if ((owners & BY_DATE) != 0) {
                byDate.put(FIRST_KEY + ring, entry.previous);
            }
        }
        return ringsOwnedBy;
    }

    private static Entry ringOf(int size, int ring) {
        Entry first = new Entry(ring);
        for (int i = 1; i < size; i++) {
            first.append(new Entry(ring));
        }
        return first;
    }

    private static String names(int owners) {
        StringBuilder names = new StringBuilder();
        if ((owners & BY_ID) != 0) {
            names.append("byId ");
        }
        if ((owners & BY_NAME) != 0) {
            names.append("byName ");
        }
        if ((owners & BY_DATE) != 0) {
            names.append("byDate ");
        }
        return names.toString().trim();
    }

    private static void truthOfOne(String name, Map<Integer, Entry> cache, int entriesOwnedAlone) {
        Console.truth(name + " size", cache.size());
        // A node and a key for every mapping, the map and its table.
        Console.truth("objects retained by " + name, 2 * cache.size() + 2 + entriesOwnedAlone);
    }
}
