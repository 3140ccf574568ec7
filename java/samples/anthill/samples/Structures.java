package anthill.samples;

import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Collection;
import java.util.Collections;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Hashtable;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.LinkedList;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.PriorityQueue;
import java.util.Properties;
import java.util.Set;
import java.util.Stack;
import java.util.StringJoiner;
import java.util.Timer;
import java.util.TimerTask;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.Vector;
import java.util.WeakHashMap;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CopyOnWriteArraySet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.DelayQueue;
import java.util.concurrent.Delayed;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ForkJoinTask;
import java.util.concurrent.ForkJoinWorkerThread;
import java.util.concurrent.LinkedBlockingDeque;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.LinkedTransferQueue;
import java.util.concurrent.PriorityBlockingQueue;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReferenceArray;

/**
 * Every data structure of the JDK, with as many elements as its line says.
 *
 * <p>No arguments. Each is the field {@code structure} of an object in the static array {@code made}.
 */
final class Structures {
    static final List<Made> made = new ArrayList<>();
    /** Strong references to the keys of weak maps. */
    static final List<Object> keys = new ArrayList<>();

    /** Of how many elements it has the heap does not tell. */
    static Set<Object> range;

    private Structures() {}

    static final class Made {
        final String name;
        final Object structure;

        Made(String name, Object structure) {
            this.name = name;
            this.structure = structure;
        }
    }

    static final class Clumsy implements Comparable<Clumsy> {
        final int number;

        Clumsy(int number) {
            this.number = number;
        }

        @Override
        public int hashCode() {
            return 7;
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Clumsy && ((Clumsy) other).number == number;
        }

        @Override
        public int compareTo(Clumsy other) {
            return Integer.compare(number, other.number);
        }
    }

    static final class Late implements Delayed {
        @Override
        public long getDelay(TimeUnit unit) {
            return unit.convert(1, TimeUnit.HOURS);
        }

        @Override
        public int compareTo(Delayed other) {
            return 0;
        }
    }

    /** A subtype, which has the structure of its supertype. */
    static final class OwnMap extends HashMap<Object, Object> {
        private static final long serialVersionUID = 1;
        final transient Object beside = new HashMap<>(Map.of("not", "of it"));
    }

    static final class Loader extends ClassLoader {
        Class<?> define(Class<?> like) throws IOException {
            String file = like.getName().replace('.', '/') + ".class";
            try (InputStream in = like.getClassLoader().getResourceAsStream(file)) {
                byte[] bytes = in.readAllBytes();
                return defineClass(like.getName(), bytes, 0, bytes.length);
            }
        }
    }

    enum Color { RED, GREEN, BLUE, WHITE, BLACK }

    enum Large {
        A0, A1, A2, A3, A4, A5, A6, A7, A8, A9, B0, B1, B2, B3, B4, B5, B6, B7, B8, B9, C0, C1, C2, C3, C4,
        C5, C6, C7, C8, C9, D0, D1, D2, D3, D4, D5, D6, D7, D8, D9, E0, E1, E2, E3, E4, E5, E6, E7, E8, E9,
        F0, F1, F2, F3, F4, F5, F6, F7, F8, F9, G0, G1, G2, G3, G4, G5, G6, G7, G8, G9
    }

    static <T> T make(String name, T structure, int elements) {
        made.add(new Made(name, structure));
        Console.truth(name, elements);
        return structure;
    }

    static <C extends Collection<Object>> C fill(String name, C structure, int elements) {
        for (int i = 0; i < elements; i++) {
            structure.add("element " + i);
        }
        return make(name, structure, elements);
    }

    static <M extends Map<Object, Object>> M fill(String name, M structure, int elements) {
        for (int i = 0; i < elements; i++) {
            Object key = "key " + i;
            keys.add(key);
            structure.put(key, i % 3 == 0 ? (Object) Map.entry(key, i) : "value " + i);
        }
        return make(name, structure, elements);
    }

    static <M extends Map<Object, Object>> M fillClumsily(String name, M structure, int elements) {
        for (int i = 0; i < elements; i++) {
            structure.put(new Clumsy(i), "value " + i);
        }
        return make(name, structure, elements);
    }

    static void lists() {
        fill("ArrayList", new ArrayList<>(1000), 60);
        fill("ArrayList, empty", new ArrayList<>(), 0);
        fill("Vector", new Vector<>(), 61);
        fill("Stack", new Stack<>(), 62);
        fill("LinkedList", new LinkedList<>(), 63);
        List<Object> nulls = new LinkedList<>(Arrays.asList(null, "one", null));
        make("LinkedList with nulls", nulls, 3);
        make("Arrays.asList", Arrays.asList("one", "two", "three"), 3);
        make("Arrays.asList of null", Arrays.asList("one", null), 1);
        fill("CopyOnWriteArrayList", new CopyOnWriteArrayList<>(), 64);
        Object[] slots = {"one", null, "three", null, "five", "six"};
        make("AtomicReferenceArray", new AtomicReferenceArray<>(slots), 4);
        List<Object> repeated = new ArrayList<>(Collections.nCopies(20, "the same"));
        make("ArrayList of the same", repeated, 20);
    }

    static void maps() throws IOException {
        Map<Object, Object> map = fill("HashMap", new HashMap<>(), 100);
        make("ArrayList of entries", new ArrayList<>(map.entrySet()), 100);
        Map<Object, Object> of = new HashMap<>();
        map.entrySet().forEach(entry -> of.put(entry.getKey(), entry));
        make("HashMap of entries", of, 100);
        Map<Object, Object> nulls = new HashMap<>();
        nulls.put(null, null);
        nulls.put("null", null);
        make("HashMap with nulls", nulls, 2);
        fillClumsily("HashMap of trees", new HashMap<>(), 100);
        fill("LinkedHashMap", new LinkedHashMap<>(), 101);
        fillClumsily("LinkedHashMap of trees", new LinkedHashMap<>(), 101);
        fill("subtype of HashMap", new OwnMap(), 102);
        fill("Hashtable", new Hashtable<>(), 103);
        fill("Properties", new Properties(), 104);
        fill("TreeMap", new TreeMap<>(), 105);
        fill("WeakHashMap", new WeakHashMap<>(), 106);
        fill("IdentityHashMap", new IdentityHashMap<>(), 107);
        Map<Object, Object> valueless = new IdentityHashMap<>();
        valueless.put(null, null);
        valueless.put("value", "value");
        for (int i = 0; i < 20; i++) {
            valueless.put(new Object(), null);
        }
        make("IdentityHashMap with nulls", valueless, valueless.size());
        Map<Color, Object> colors = new EnumMap<>(Color.class);
        colors.put(Color.RED, "red");
        colors.put(Color.BLUE, null);
        make("EnumMap", colors, 2);
        fill("ConcurrentHashMap", new ConcurrentHashMap<>(), 108);
        fillClumsily("ConcurrentHashMap of trees", new ConcurrentHashMap<>(), 109);
        fill("ConcurrentSkipListMap", new ConcurrentSkipListMap<>(), 110);
        Map<Object, Object> seen = fill("ConcurrentHashMap with views", new ConcurrentHashMap<>(), 33);
        Console.truth("views", seen.keySet().size() + seen.values().size() + seen.entrySet().size());
        Loader loader = new Loader();
        keys.add(loader.define(Clumsy.class));
        keys.add(loader.define(Late.class));
        make("ClassLoader", loader, 2);
    }

    static void sets() {
        fill("HashSet", new HashSet<>(), 50);
        fill("LinkedHashSet", new LinkedHashSet<>(), 51);
        range = fill("TreeSet", new TreeSet<>(), 52).subSet("element 1", "element 3");
        make("EnumSet", EnumSet.of(Color.RED, Color.BLACK, Color.WHITE), 3);
        make("EnumSet, large", EnumSet.range(Large.A5, Large.G4), 60);
        BitSet bits = new BitSet();
        bits.set(1000, 1077);
        make("BitSet", bits, 77);
        fill("ConcurrentHashMap.newKeySet", ConcurrentHashMap.newKeySet(), 53);
        fill("Collections.newSetFromMap", Collections.newSetFromMap(new IdentityHashMap<>()), 54);
        fill("ConcurrentSkipListSet", new ConcurrentSkipListSet<>(), 55);
        fill("CopyOnWriteArraySet", new CopyOnWriteArraySet<>(), 56);
    }

    static void queues() throws InterruptedException {
        ArrayDeque<Object> ring = new ArrayDeque<>(8);
        for (int i = 0; i < 5; i++) {
            ring.add("passing " + i);
            ring.remove();
        }
        fill("ArrayDeque", ring, 70);
        fill("PriorityQueue", new PriorityQueue<>(), 71);
        ConcurrentLinkedQueue<Object> queue = new ConcurrentLinkedQueue<>();
        queue.add("passing");
        queue.remove();
        fill("ConcurrentLinkedQueue", queue, 72);
        fill("ConcurrentLinkedDeque", new ConcurrentLinkedDeque<>(), 73);
        fill("LinkedBlockingQueue", new LinkedBlockingQueue<>(), 74);
        fill("LinkedBlockingQueue with a limit", new LinkedBlockingQueue<>(1000), 79);
        fill("LinkedBlockingDeque", new LinkedBlockingDeque<>(), 75);
        LinkedTransferQueue<Object> transfers = new LinkedTransferQueue<>();
        transfers.add("passing");
        transfers.take();
        fill("LinkedTransferQueue", transfers, 76);
        fill("ArrayBlockingQueue", new ArrayBlockingQueue<>(100), 77);
        fill("PriorityBlockingQueue", new PriorityBlockingQueue<>(), 78);
        DelayQueue<Late> late = new DelayQueue<>();
        late.add(new Late());
        late.add(new Late());
        make("DelayQueue", late, 2);
        ScheduledThreadPoolExecutor scheduled = new ScheduledThreadPoolExecutor(1);
        scheduled.setThreadFactory(
                work -> {
                    Thread thread = new Thread(work);
                    thread.setDaemon(true);
                    return thread;
                });
        for (int i = 0; i < 5; i++) {
            scheduled.schedule(() -> {}, 1, TimeUnit.HOURS);
        }
        keys.add(scheduled);
        make("ScheduledThreadPoolExecutor", scheduled.getQueue(), 5);
        Timer timer = new Timer(true);
        for (int i = 0; i < 4; i++) {
            timer.schedule(
                    new TimerTask() {
                        @Override
                        public void run() {}
                    },
                    TimeUnit.HOURS.toMillis(1));
        }
        make("Timer", timer, 4);
    }

    static void immutables() {
        make("List.of()", List.of(), 0);
        make("List.of(1)", List.of("one"), 1);
        make("List.of(2)", List.of("one", "two"), 2);
        make("List.of(5)", List.of("1", "2", "3", "4", "5"), 5);
        make("Set.of(1)", Set.of("one"), 1);
        make("Set.of(2)", Set.of("one", "two"), 2);
        make("Set.of(4)", Set.of("1", "2", "3", "4"), 4);
        make("Map.of(1)", Map.of("one", "1"), 1);
        make("Map.of(3)", Map.of("one", "1", "two", "2", "three", "3"), 3);
        make("Collections.emptyList", Collections.emptyList(), 0);
        make("Collections.emptySet", Collections.emptySet(), 0);
        make("Collections.emptyMap", Collections.emptyMap(), 0);
        make("Collections.singletonList", Collections.singletonList("one"), 1);
        make("Collections.singleton", Collections.singleton("one"), 1);
        make("Collections.singletonMap", Collections.singletonMap("one", "1"), 1);
    }

    static void wrappers() {
        List<String> list = new ArrayList<>(List.of("1", "2", "3"));
        Map<String, String> map = new HashMap<>(Map.of("one", "1", "two", "2"));
        TreeMap<String, String> tree = new TreeMap<>(Map.of("one", "1", "two", "2", "three", "3"));
        make("unmodifiableList", Collections.unmodifiableList(list), 3);
        make("unmodifiableSet", Collections.unmodifiableSet(new HashSet<>(list)), 3);
        Map<String, String> viewed = make("unmodifiableMap", Collections.unmodifiableMap(map), 2);
        Console.truth("viewed", viewed.keySet().size() + viewed.values().size());
        make("unmodifiableNavigableMap", Collections.unmodifiableNavigableMap(tree), 3);
        make("synchronizedList", Collections.synchronizedList(list), 3);
        make("synchronizedSet", Collections.synchronizedSet(new HashSet<>(list)), 3);
        make("synchronizedMap", Collections.synchronizedMap(map), 2);
        make("synchronizedSortedMap", Collections.synchronizedSortedMap(tree), 3);
        make("checkedList", Collections.checkedList(list, String.class), 3);
        make("checkedMap", Collections.checkedMap(map, String.class, String.class), 2);
        List<String> wrapped = Collections.unmodifiableList(Collections.synchronizedList(list));
        make("wrapped twice", wrapped, 3);
        StringJoiner joined = new StringJoiner(", ", "[", "]");
        list.forEach(joined::add);
        make("StringJoiner", joined, 3);
        make("StringBuilder", new StringBuilder("0123456789"), 10);
        make("StringBuilder, UTF-16", new StringBuilder("0123456789€"), 11);
    }

    /** Made by structures that go on without them, which {@code keys} holds. */
    static void views() {
        List<Object> list = new ArrayList<>(List.of("1", "2", "3", "4", "5"));
        keys.add(list);
        make("subList", list.subList(1, 4), 3);
        make("subList of a subList", list.subList(0, 4).subList(1, 3), 2);
        List<Object> linked = new LinkedList<>(list);
        keys.add(linked);
        make("subList of a LinkedList", linked.subList(2, 5), 3);
        List<String> fixed = List.of("1", "2", "3", "4");
        keys.add(fixed);
        make("subList of List.of", fixed.subList(0, 3), 3);
        make("subList of Arrays.asList", Arrays.asList("1", "2", "3").subList(0, 2), 2);
        make("unmodifiable subList", Collections.unmodifiableList(list.subList(3, 5)), 2);
        List<Object> copied = new CopyOnWriteArrayList<>(list);
        keys.add(copied);
        make("subList of a CopyOnWriteArrayList", copied.subList(0, 2), 2);
        make("asLifoQueue", Collections.asLifoQueue(new ArrayDeque<>(list)), 5);
        make("nCopies", Collections.nCopies(1000, "the same"), 1000);
        views("HashMap", new HashMap<>());
        views("LinkedHashMap", new LinkedHashMap<>());
        views("Hashtable", new Hashtable<>());
        views("TreeMap", new TreeMap<>());
        views("WeakHashMap", new WeakHashMap<>());
        views("IdentityHashMap", new IdentityHashMap<>());
        views("ConcurrentHashMap", new ConcurrentHashMap<>());
        views("ConcurrentSkipListMap", new ConcurrentSkipListMap<>());
        Map<Color, Object> colors = new EnumMap<>(Map.of(Color.RED, "red", Color.BLUE, "blue"));
        keys.add(colors);
        make("keys of an EnumMap", colors.keySet(), 2);
        make("values of an EnumMap", colors.values(), 2);
        make("entries of an EnumMap", colors.entrySet(), 2);
        Map<String, String> of = Map.of("one", "1", "two", "2");
        keys.add(of);
        make("keys of Map.of", of.keySet(), 2);
        make("values of Map.of", of.values(), 2);
        make("entries of Map.of", of.entrySet(), 2);
        ranges("TreeMap", new TreeMap<>());
        ranges("ConcurrentSkipListMap", new ConcurrentSkipListMap<>());
    }

    /** Of how many elements they have the heap does not tell. */
    static void ranges(String name, NavigableMap<Object, Object> map) {
        map.putAll(Map.of("a", "1", "b", "2", "c", "3"));
        keys.add(map);
        NavigableMap<Object, Object> part = map.subMap("a", true, "b", true);
        made.add(new Made("range of a " + name, part));
        made.add(new Made("entries of a range of a " + name, part.entrySet()));
    }

    static void views(String name, Map<Object, Object> map) {
        for (int i = 0; i < 9; i++) {
            Object key = "key " + i;
            keys.add(key);
            map.put(key, "value " + i);
        }
        keys.add(map);
        make("keys of a " + name, map.keySet(), 9);
        make("values of a " + name, map.values(), 9);
        make("entries of a " + name, map.entrySet(), 9);
    }

    /** What is only had by a method that is there since Java 21. */
    static void reversed() throws ReflectiveOperationException {
        List<Object> list = List.of("1", "2", "3", "4", "5", "6");
        TreeMap<Object, Object> tree = new TreeMap<>(Map.of("one", "1", "two", "2", "three", "3"));
        LinkedHashMap<Object, Object> linked = new LinkedHashMap<>(tree);
        reversed("ArrayList", List.class, new ArrayList<>(list), 6);
        reversed("LinkedList", LinkedList.class, new LinkedList<>(list), 6);
        reversed("CopyOnWriteArrayList", List.class, new CopyOnWriteArrayList<>(list), 6);
        reversed("ArrayDeque", java.util.Deque.class, new ArrayDeque<>(list), 6);
        reversed("LinkedHashSet", LinkedHashSet.class, new LinkedHashSet<>(list), 6);
        reversed("LinkedHashMap", LinkedHashMap.class, linked, 3);
        reversed("sorted set", java.util.SortedSet.class, Collections.unmodifiableSortedSet(new TreeSet<>(list)), 6);
        reversed("sorted map", java.util.SortedMap.class, Collections.unmodifiableSortedMap(tree), 3);
    }

    static void reversed(String name, Class<?> type, Object structure, int elements)
            throws ReflectiveOperationException {
        Method reversed;
        try {
            reversed = type.getMethod("reversed");
        } catch (NoSuchMethodException e) {
            return;
        }
        keys.add(structure);
        make("reversed " + name, reversed.invoke(structure), elements);
    }

    /** What the JDK keeps to itself: only with {@code --add-opens} for the packages of {@code java.base}. */
    static void internals() throws Exception {
        Field locals;
        Field queue;
        try {
            locals = Thread.class.getDeclaredField("threadLocals");
            locals.setAccessible(true);
            queue = ForkJoinWorkerThread.class.getDeclaredField("workQueue");
            queue.setAccessible(true);
        } catch (RuntimeException e) {
            return;
        }
        CountDownLatch set = new CountDownLatch(1);
        Thread thread = new Thread(() -> {
            for (int i = 0; i < 25; i++) {
                ThreadLocal<Object> local = new ThreadLocal<>();
                local.set("local " + i);
                keys.add(local);
            }
            set.countDown();
            sleep();
        });
        thread.setDaemon(true);
        thread.start();
        set.await();
        make("ThreadLocalMap", locals.get(thread), 25);

        // One worker, which is busy: nobody takes what it has forked.
        ForkJoinPool pool = new ForkJoinPool(1);
        keys.add(pool);
        CountDownLatch forked = new CountDownLatch(1);
        pool.execute(() -> {
            keys.add(Thread.currentThread());
            for (int i = 0; i < 12; i++) {
                ForkJoinTask.adapt(() -> {}).fork();
            }
            forked.countDown();
            sleep();
        });
        forked.await();
        make("WorkQueue", queue.get(keys.get(keys.size() - 1)), 12);
    }

    static void sleep() {
        try {
            Thread.sleep(Long.MAX_VALUE);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    public static void main(String[] arguments) throws Exception {
        lists();
        maps();
        sets();
        queues();
        immutables();
        wrappers();
        views();
        reversed();
        internals();
        Console.readyUntilClosed();
    }
}
