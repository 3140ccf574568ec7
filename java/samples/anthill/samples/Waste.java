package anthill.samples;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Hashtable;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.LinkedList;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.Vector;
import java.util.WeakHashMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;

/**
 * Every kind of waste, each behind a static field of its own. A truth names the kind and the field: how many
 * objects that this field holds are wasted in that way.
 *
 * <p>Arguments: objects of each kind (default 1,000).
 */
final class Waste {
    private static final Object THING = new Object();
    private static final int DISTINCT = 10;

    static String[] names;
    static String[] shared;
    static long[][] series;
    static byte[][] buffers;
    static Integer[] boxes;
    static List<Object> touched = new ArrayList<>();
    static List<Object> untouched = new ArrayList<>();
    static List<Object> roomy = new ArrayList<>();
    static List<Object> full = new ArrayList<>();
    static Map<Integer, Object> contended = new ConcurrentHashMap<>();
    static Mostly[] mostly;
    static Half[] half;
    static Object[][] slots;
    static List<Object> colliding = new ArrayList<>();
    static List<Object> spread = new ArrayList<>();

    private Waste() {}

    /** Three of four fields are null. */
    static final class Mostly {
        final Object set = THING;
        Object first;
        Object second;
        Object third;
    }

    static final class Half {
        final Object set = THING;
        Object unset;
    }

    static final class Key {
        private final int hash;

        Key(int hash) {
            this.hash = hash;
        }

        @Override
        public int hashCode() {
            return hash;
        }

        @Override
        public boolean equals(Object other) {
            return this == other;
        }
    }

    public static void main(String[] args) throws IOException, InterruptedException {
        int count = Console.argument(args, 0, 1_000);
        fillDuplicates(count);
        fillCollections(count);
        fillContended();
        fillFields(count);
        fillMaps();

        Console.truth("duplicate strings in names", count - DISTINCT);
        Console.truth("duplicate strings in shared", count - 1);
        Console.truth("duplicate arrays in series", count - DISTINCT);
        Console.truth("zero-filled arrays in buffers", count);
        Console.truth("duplicate arrays in buffers", 0);
        Console.truth("duplicate boxes in boxes", count - DISTINCT);
        Console.truth("boxed numbers in boxes", count);
        Console.truth("empty collections in touched", 10 * count);
        Console.truth("unused collections in touched", 0);
        Console.truth("unused collections in untouched", 6 * count);
        Console.truth("empty collections in untouched", 0);
        Console.truth("sparse collections in roomy", 7 * count);
        Console.truth("empty collections in roomy", 0);
        Console.truth("sparse collections in full", 0);
        Console.truth("sparse collections in contended", 1);
        Console.truth("null fields in mostly", count);
        Console.truth("null fields in half", 0);
        Console.truth("sparse arrays in slots", count);
        Console.truth("hash collisions in colliding", 4);
        Console.truth("hash collisions in spread", 0);
        Console.readyUntilClosed();
    }

    private static void fillDuplicates(int count) {
        names = new String[count];
        shared = new String[count];
        series = new long[count][32];
        buffers = new byte[count][64];
        boxes = new Integer[count];
        String text = "a text that all share: " + count;
        for (int i = 0; i < count; i++) {
            names[i] = "name number " + i % DISTINCT;
            shared[i] = new String(text);
            series[i][31] = 1_000_000 + i % DISTINCT;
            boxes[i] = 1_000_000 + i % DISTINCT;
        }
    }

    private static void fillCollections(int count) {
        List<Supplier<Map<Object, Object>>> maps = List.of(HashMap::new, LinkedHashMap::new, Hashtable::new,
                WeakHashMap::new, IdentityHashMap::new, ConcurrentHashMap::new);
        for (int i = 0; i < count; i++) {
            for (Supplier<Map<Object, Object>> map : maps) {
                Map<Object, Object> emptied = map.get();
                emptied.put(THING, THING);
                emptied.remove(THING);
                touched.add(emptied);
            }
            HashSet<Object> set = new HashSet<>();
            set.add(THING);
            set.clear();
            touched.addAll(List.of(set, new ArrayDeque<>(), new Vector<>(), new PriorityQueue<>()));
            untouched.addAll(List.of(new HashMap<>(), new ConcurrentHashMap<>(), new ArrayList<>(),
                    new TreeMap<>(), new TreeSet<>(), new LinkedList<>()));
            addRoomy();
            full.add(new ArrayList<>(List.of(THING, THING)));
            full.add(new HashMap<>(Map.of(1, THING, 2, THING, 3, THING, 4, THING, 5, THING)));
        }
    }

    private static void addRoomy() {
        List<Object> list = new ArrayList<>(100);
        list.add(THING);
        // Goes over the end of the array.
        ArrayDeque<Object> deque = new ArrayDeque<>(100);
        deque.addFirst(THING);
        deque.addLast(THING);
        PriorityQueue<Object> queue = new PriorityQueue<>(100);
        queue.add("least");
        roomy.addAll(List.of(list, deque, queue));
        List<Map<Object, Object>> maps = List.of(new HashMap<>(100), new ConcurrentHashMap<>(100),
                new IdentityHashMap<>(100), new Hashtable<>(100));
        for (Map<Object, Object> map : maps) {
            map.put(THING, THING);
            roomy.add(map);
        }
    }

    /** A concurrent map counts in several places when several threads change it. */
    private static void fillContended() throws InterruptedException {
        Thread[] threads = new Thread[4];
        for (int t = 0; t < threads.length; t++) {
            int first = t * 10_000;
            threads[t] = new Thread(() -> {
                for (int i = first; i < first + 10_000; i++) {
                    contended.put(i, THING);
                }
                for (int i = first + 1; i < first + 10_000; i++) {
                    contended.remove(i);
                }
            });
            threads[t].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }

    private static void fillFields(int count) {
        mostly = new Mostly[count];
        half = new Half[count];
        slots = new Object[count][64];
        for (int i = 0; i < count; i++) {
            mostly[i] = new Mostly();
            half[i] = new Half();
            slots[i][i % 64] = THING;
        }
    }

    private static void fillMaps() {
        List<Map<Object, Object>> badly = List.of(new HashMap<>(), new LinkedHashMap<>(), new Hashtable<>(),
                new ConcurrentHashMap<>());
        List<Map<Object, Object>> well = List.of(new HashMap<>(), new Hashtable<>(), new ConcurrentHashMap<>());
        for (int i = 0; i < 600; i++) {
            for (Map<Object, Object> map : badly) {
                map.put(new Key(i % 3), THING);
            }
            for (Map<Object, Object> map : well) {
                map.put(new Key(i), THING);
            }
        }
        colliding.addAll(badly);
        spread.addAll(well);
    }
}
