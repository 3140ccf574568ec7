package anthill.samples;

import com.github.benmanes.caffeine.cache.AsyncCache;
import com.github.benmanes.caffeine.cache.Caffeine;
import com.google.common.cache.Cache;
import com.google.common.cache.CacheBuilder;
import com.google.common.collect.ArrayListMultimap;
import com.google.common.collect.EvictingQueue;
import com.google.common.collect.HashBasedTable;
import com.google.common.collect.HashBiMap;
import com.google.common.collect.HashMultimap;
import com.google.common.collect.HashMultiset;
import com.google.common.collect.ImmutableBiMap;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableListMultimap;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedMap;
import com.google.common.collect.ImmutableSortedSet;
import com.google.common.collect.LinkedListMultimap;
import com.google.common.collect.MapMaker;
import com.google.common.collect.MinMaxPriorityQueue;
import com.google.common.collect.Multimap;
import io.netty.util.HashedWheelTimer;
import io.netty.util.Recycler;
import io.netty.util.concurrent.FastThreadLocal;
import io.netty.util.concurrent.FastThreadLocalThread;
import io.netty.util.internal.DefaultPriorityQueue;
import io.netty.util.internal.InternalThreadLocalMap;
import io.netty.util.internal.PlatformDependent;
import io.netty.util.internal.PriorityQueueNode;
import it.unimi.dsi.fastutil.ints.Int2IntOpenHashMap;
import it.unimi.dsi.fastutil.ints.Int2ObjectOpenHashMap;
import it.unimi.dsi.fastutil.ints.Int2ReferenceOpenHashMap;
import it.unimi.dsi.fastutil.ints.IntArrayList;
import it.unimi.dsi.fastutil.ints.IntOpenHashSet;
import it.unimi.dsi.fastutil.longs.Long2ObjectLinkedOpenHashMap;
import it.unimi.dsi.fastutil.objects.Object2IntOpenHashMap;
import it.unimi.dsi.fastutil.objects.Object2ObjectArrayMap;
import it.unimi.dsi.fastutil.objects.Object2ObjectAVLTreeMap;
import it.unimi.dsi.fastutil.objects.Object2ObjectLinkedOpenHashMap;
import it.unimi.dsi.fastutil.objects.Object2ObjectOpenHashMap;
import it.unimi.dsi.fastutil.objects.Object2ObjectRBTreeMap;
import it.unimi.dsi.fastutil.objects.Object2ReferenceOpenHashMap;
import it.unimi.dsi.fastutil.objects.ObjectArrayFIFOQueue;
import it.unimi.dsi.fastutil.objects.ObjectArrayList;
import it.unimi.dsi.fastutil.objects.ObjectArraySet;
import it.unimi.dsi.fastutil.objects.ObjectBigArrayBigList;
import it.unimi.dsi.fastutil.objects.ObjectHeapPriorityQueue;
import it.unimi.dsi.fastutil.objects.ObjectOpenHashSet;
import it.unimi.dsi.fastutil.objects.ObjectRBTreeSet;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.eclipse.collections.impl.bag.mutable.HashBag;
import org.eclipse.collections.impl.factory.Lists;
import org.eclipse.collections.impl.list.mutable.FastList;
import org.eclipse.collections.impl.map.mutable.ConcurrentMutableHashMap;
import org.eclipse.collections.impl.map.mutable.UnifiedMap;
import org.eclipse.collections.impl.map.mutable.primitive.IntObjectHashMap;
import org.eclipse.collections.impl.map.mutable.primitive.ObjectIntHashMap;
import org.eclipse.collections.impl.map.sorted.mutable.TreeSortedMap;
import org.eclipse.collections.impl.multimap.list.FastListMultimap;
import org.eclipse.collections.impl.set.mutable.UnifiedSet;
import org.eclipse.collections.impl.set.sorted.mutable.TreeSortedSet;
import org.eclipse.collections.impl.stack.mutable.ArrayStack;
import org.h2.mvstore.MVMap;
import org.h2.mvstore.MVStore;
import org.hibernate.internal.util.collections.BoundedConcurrentHashMap;

/**
 * Data structures of libraries, with as many elements as their lines say.
 *
 * <p>No arguments. Each is the field {@code structure} of an object in the static list {@code made}.
 */
final class Libraries {
    static final List<Made> made = new ArrayList<>();
    static final List<Object> keys = new ArrayList<>();

    private Libraries() {}

    static final class Made {
        final String name;
        final Object structure;

        Made(String name, Object structure) {
            this.name = name;
            this.structure = structure;
        }
    }

    static final class Clumsy {
        final int number;

        Clumsy(int number) {
            this.number = number;
        }

        @Override
        public int hashCode() {
            return number % 3;
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Clumsy && ((Clumsy) other).number == number;
        }
    }

    static final class Pooled {
        final Recycler.Handle<Pooled> handle;

        Pooled(Recycler.Handle<Pooled> handle) {
            this.handle = handle;
        }
    }

    static final class Node implements PriorityQueueNode {
        private int index = INDEX_NOT_IN_QUEUE;

        @Override
        public int priorityQueueIndex(DefaultPriorityQueue<?> queue) {
            return index;
        }

        @Override
        public void priorityQueueIndex(DefaultPriorityQueue<?> queue, int i) {
            index = i;
        }
    }

    static <T> T make(String name, T structure, int elements) {
        made.add(new Made(name, structure));
        Console.truth(name, elements);
        return structure;
    }

    static String key(int i) {
        String key = "key " + i;
        keys.add(key);
        return key;
    }

    static <C extends Collection<Object>> void fill(String name, C structure, int elements) {
        for (int i = 0; i < elements; i++) {
            structure.add("element " + i);
        }
        make(name, structure, elements);
    }

    static <M extends Map<Object, Object>> void fill(String name, M structure, int elements) {
        for (int i = 0; i < elements; i++) {
            structure.put(key(i), "value " + i);
        }
        make(name, structure, elements);
    }

    static void cache(String name, Cache<Object, Object> cache, int elements) {
        for (int i = 0; i < elements; i++) {
            Object value = "value " + i;
            keys.add(value);
            cache.put(key(i), value);
        }
        make(name, cache, elements);
    }

    static void caffeine(
            String name, com.github.benmanes.caffeine.cache.Cache<Object, Object> cache, int elements) {
        for (int i = 0; i < elements; i++) {
            cache.put(key(i), "value " + i);
        }
        cache.cleanUp();
        make(name, cache, elements);
    }

    static void asynchronous(String name, AsyncCache<Object, Object> cache, int elements) {
        for (int i = 0; i < elements; i++) {
            cache.put(key(i), CompletableFuture.completedFuture("value " + i));
        }
        cache.synchronous().cleanUp();
        make(name, cache, elements);
    }

    /** Made by a method that only its own package may call. */
    @SuppressWarnings("unchecked")
    static <T> T hidden(String name) throws ReflectiveOperationException {
        Method create = Class.forName(name).getDeclaredMethod("create");
        create.setAccessible(true);
        return (T) create.invoke(null);
    }

    static void guava() throws ReflectiveOperationException {
        cache("CacheBuilder", CacheBuilder.newBuilder().build(), 200);
        cache("CacheBuilder, bounded", CacheBuilder.newBuilder().maximumSize(10000)
                .expireAfterWrite(1, TimeUnit.HOURS).build(), 201);
        cache("CacheBuilder, weak", CacheBuilder.newBuilder().weakKeys().softValues().build(), 202);
        cache("CacheBuilder, weak values", CacheBuilder.newBuilder().weakValues().build(), 203);
        Map<Object, Object> inner = CacheBuilder.newBuilder().build().asMap();
        fill("CacheBuilder, as a map", inner, 204);
        make("ImmutableList", ImmutableList.of("1", "2", "3", "4"), 4);
        make("ImmutableList of 1", ImmutableList.of("1"), 1);
        make("ImmutableSet", ImmutableSet.of("1", "2", "3"), 3);
        make("ImmutableSet of 1", ImmutableSet.of("1"), 1);
        make("ImmutableMap", ImmutableMap.of("1", "a", "2", "b", "3", "c"), 3);
        make("ImmutableMap of 1", ImmutableMap.of("1", "a"), 1);
        make("ImmutableSortedSet", ImmutableSortedSet.of("1", "2", "3"), 3);
        make("ImmutableSortedMap", ImmutableSortedMap.of("1", "a", "2", "b"), 2);
        make("ImmutableBiMap", ImmutableBiMap.of("1", "a", "2", "b", "3", "c"), 3);
        make("ImmutableListMultimap", ImmutableListMultimap.of("1", "a", "2", "b", "2", "c"), 2);
        Map<Object, Object> compactMap = hidden("com.google.common.collect.CompactHashMap");
        fill("CompactHashMap", compactMap, 62);
        Collection<Object> compactSet = hidden("com.google.common.collect.CompactHashSet");
        fill("CompactHashSet", compactSet, 63);
        fill("HashBiMap", HashBiMap.create(), 60);
        Multimap<Object, Object> lists = ArrayListMultimap.create();
        Multimap<Object, Object> sets = HashMultimap.create();
        Multimap<Object, Object> linked = LinkedListMultimap.create();
        for (int i = 0; i < 30; i++) {
            lists.put("key " + i % 10, "value " + i);
            sets.put("key " + i % 6, "value " + i);
            linked.put("key " + i % 5, "value " + i);
        }
        make("ArrayListMultimap", lists, 10);
        make("HashMultimap", sets, 6);
        make("LinkedListMultimap", linked, 30);
        make("HashMultiset", HashMultiset.create(Arrays.asList("a", "b", "a")), 2);
        HashBasedTable<Object, Object, Object> table = HashBasedTable.create();
        for (int i = 0; i < 20; i++) {
            table.put("row " + i % 4, "column " + i % 5, "value " + i);
        }
        make("HashBasedTable", table, 4);
        fill("EvictingQueue", EvictingQueue.create(10), 10);
        MinMaxPriorityQueue<String> queue = MinMaxPriorityQueue.create();
        for (int i = 0; i < 17; i++) {
            queue.add("element " + i);
        }
        make("MinMaxPriorityQueue", queue, 17);
        fill("MapMaker, weak keys", new MapMaker().weakKeys().makeMap(), 61);
        fill("MapMaker, weak values", new MapMaker().weakValues().makeMap(), 0);
    }

    static void caffeines() {
        caffeine("Caffeine", Caffeine.newBuilder().build(), 300);
        caffeine("Caffeine, bounded", Caffeine.newBuilder().maximumSize(10000).build(), 301);
        caffeine("Caffeine, weak keys", Caffeine.newBuilder().weakKeys().expireAfterAccess(1, TimeUnit.HOURS).build(), 302);
        Map<Object, Object> unbounded = Caffeine.newBuilder().build().asMap();
        fill("Caffeine, as a map", unbounded, 303);
        Map<Object, Object> bounded = Caffeine.newBuilder().maximumSize(10000).build().asMap();
        fill("Caffeine, bounded, as a map", bounded, 304);
        asynchronous("Caffeine, asynchronous", Caffeine.newBuilder().buildAsync(), 305);
        asynchronous("Caffeine, bounded, asynchronous", Caffeine.newBuilder().maximumSize(10000).buildAsync(), 306);
    }

    static void scalas() {
        scala.collection.immutable.List<Object> list = scala.collection.immutable.List$.MODULE$.empty();
        for (int i = 0; i < 40; i++) {
            list = list.$colon$colon("element " + i);
        }
        make("List", list, 40);
        make("List, its tail", list.tail(), 39);
        scala.collection.immutable.VectorBuilder<Object> vector = new scala.collection.immutable.VectorBuilder<>();
        for (int i = 0; i < 1500; i++) {
            vector.addOne("element " + i);
        }
        make("Vector", vector.result(), 1500);
        scala.collection.immutable.HashMap<Object, Object> map = scala.collection.immutable.HashMap$.MODULE$.empty();
        scala.collection.immutable.HashSet<Object> set = scala.collection.immutable.HashSet$.MODULE$.empty();
        for (int i = 0; i < 400; i++) {
            map = map.updated("key " + i, "value " + i);
            set = set.incl("element " + i);
            if (i == 99) {
                make("immutable.HashMap, earlier", map, 100);
            }
        }
        make("immutable.HashMap", map, 400);
        make("immutable.HashSet", set, 400);
        scala.collection.mutable.HashMap<Object, Object> hashes = new scala.collection.mutable.HashMap<>();
        scala.collection.mutable.LinkedHashMap<Object, Object> linked = new scala.collection.mutable.LinkedHashMap<>();
        scala.collection.mutable.HashSet<Object> hashSet = new scala.collection.mutable.HashSet<>();
        scala.collection.mutable.ArrayBuffer<Object> buffer = new scala.collection.mutable.ArrayBuffer<>();
        scala.collection.mutable.ListBuffer<Object> listBuffer = new scala.collection.mutable.ListBuffer<>();
        scala.collection.concurrent.TrieMap<Object, Object> tries = new scala.collection.concurrent.TrieMap<>();
        for (int i = 0; i < 100; i++) {
            hashes.update(new Clumsy(i), "value " + i);
            linked.update("key " + i, "value " + i);
            hashSet.add("element " + i);
            buffer.addOne("element " + i);
            listBuffer.addOne("element " + i);
            tries.update("key " + i, "value " + i);
        }
        make("mutable.HashMap", hashes, 100);
        make("mutable.LinkedHashMap", linked, 100);
        make("mutable.HashSet", hashSet, 100);
        make("ArrayBuffer", buffer, 100);
        make("ListBuffer", listBuffer, 100);
        make("TrieMap", tries, 100);
        make("Nil", scala.collection.immutable.Nil$.MODULE$, 0);
        scala.collection.immutable.Queue<Object> queue = scala.collection.immutable.Queue$.MODULE$.empty();
        for (int i = 0; i < 20; i++) {
            queue = queue.enqueue("element " + i);
        }
        make("immutable.Queue", queue, 20);
        make("immutable.Queue, its tail", queue.tail().enqueue("last"), 20);
        make("ArraySeq", new scala.collection.immutable.ArraySeq.ofRef<>(new String[] {"1", "2", "3"}), 3);
        trees();
        scala.collection.mutable.ArrayDeque<Object> deque = new scala.collection.mutable.ArrayDeque<>(16);
        scala.collection.mutable.LinkedHashSet<Object> linkedSet = new scala.collection.mutable.LinkedHashSet<>();
        scala.collection.mutable.PriorityQueue<String> ordered =
                new scala.collection.mutable.PriorityQueue<>(scala.math.Ordering.String$.MODULE$);
        for (int i = 0; i < 90; i++) {
            deque.addOne("element " + i);
            linkedSet.add("element " + i);
            ordered.addOne("element " + i);
        }
        make("mutable.ArrayDeque", deque, 90);
        make("mutable.LinkedHashSet", linkedSet, 90);
        make("mutable.PriorityQueue", ordered, 90);
        make("Map of 2", new scala.collection.immutable.Map.Map2<>("1", "a", "2", "b"), 2);
        make("Set of 3", new scala.collection.immutable.Set.Set3<>("1", "2", "3"), 3);
    }

    static void trees() {
        scala.math.Ordering<String> order = scala.math.Ordering.String$.MODULE$;
        scala.collection.immutable.TreeMap<String, Object> map =
                scala.collection.immutable.TreeMap$.MODULE$.empty(order);
        scala.collection.immutable.TreeSet<String> set = scala.collection.immutable.TreeSet$.MODULE$.empty(order);
        scala.collection.mutable.TreeMap<String, Object> mutableMap = new scala.collection.mutable.TreeMap<>(order);
        scala.collection.mutable.TreeSet<String> mutableSet = new scala.collection.mutable.TreeSet<>(order);
        for (int i = 0; i < 80; i++) {
            map = map.updated("key " + i, "value " + i);
            set = set.incl("element " + i);
            mutableMap.update("key " + i, "value " + i);
            mutableSet.add("element " + i);
        }
        make("immutable.TreeMap", map, 80);
        make("immutable.TreeSet", set, 80);
        make("mutable.TreeMap", mutableMap, 80);
        make("mutable.TreeSet", mutableSet, 80);
    }

    static void kotlins() {
        make("emptyList", kotlin.collections.CollectionsKt.emptyList(), 0);
        make("emptySet", kotlin.collections.SetsKt.emptySet(), 0);
        make("emptyMap", kotlin.collections.MapsKt.emptyMap(), 0);
        fill("kotlin ArrayDeque", new kotlin.collections.ArrayDeque<>(), 20);
        List<Object> list = kotlin.collections.CollectionsKt.createListBuilder();
        list.addAll(Arrays.asList("1", "2", "3"));
        make("buildList", kotlin.collections.CollectionsKt.build(list), 3);
        Map<Object, Object> map = kotlin.collections.MapsKt.createMapBuilder();
        for (int i = 0; i < 12; i++) {
            map.put("key " + i, "value " + i);
        }
        make("buildMap", kotlin.collections.MapsKt.build(map), 12);
        java.util.Set<Object> set = kotlin.collections.SetsKt.createSetBuilder();
        set.addAll(Arrays.asList("1", "2", "3", "4"));
        make("buildSet", kotlin.collections.SetsKt.build(set), 4);
    }

    static void fastutils() {
        fill("ObjectArrayList", new ObjectArrayList<>(), 20);
        make("IntArrayList", new IntArrayList(new int[] {1, 2, 3}), 3);
        fill("Object2ObjectOpenHashMap", new Object2ObjectOpenHashMap<>(), 70);
        fill("Object2ObjectLinkedOpenHashMap", new Object2ObjectLinkedOpenHashMap<>(), 71);
        fill("Object2ReferenceOpenHashMap", new Object2ReferenceOpenHashMap<>(), 72);
        fill("Object2ObjectArrayMap", new Object2ObjectArrayMap<>(), 7);
        fill("Object2ObjectRBTreeMap", new Object2ObjectRBTreeMap<>(), 73);
        fill("Object2ObjectAVLTreeMap", new Object2ObjectAVLTreeMap<>(), 74);
        fill("ObjectOpenHashSet", new ObjectOpenHashSet<>(), 75);
        fill("ObjectRBTreeSet", new ObjectRBTreeSet<>(), 76);
        Int2ObjectOpenHashMap<Object> byInt = new Int2ObjectOpenHashMap<>();
        Long2ObjectLinkedOpenHashMap<Object> byLong = new Long2ObjectLinkedOpenHashMap<>();
        Object2IntOpenHashMap<Object> toInt = new Object2IntOpenHashMap<>();
        Int2IntOpenHashMap ints = new Int2IntOpenHashMap();
        IntOpenHashSet set = new IntOpenHashSet();
        for (int i = 0; i < 50; i++) {
            byInt.put(i, "value " + i);
            byLong.put(i, "value " + i);
            toInt.put("key " + i, i);
            ints.put(i, i);
            set.add(i);
        }
        Int2ReferenceOpenHashMap<Object> references = new Int2ReferenceOpenHashMap<>();
        ObjectHeapPriorityQueue<String> heap = new ObjectHeapPriorityQueue<>();
        ObjectArrayFIFOQueue<Object> fifo = new ObjectArrayFIFOQueue<>(8);
        for (int i = 0; i < 45; i++) {
            references.put(i, "value " + i);
            heap.enqueue("element " + i);
            fifo.enqueue("element " + i);
        }
        fifo.dequeue();
        make("Int2ReferenceOpenHashMap", references, 45);
        make("ObjectHeapPriorityQueue", heap, 45);
        make("ObjectArrayFIFOQueue", fifo, 44);
        fill("ObjectArraySet", new ObjectArraySet<>(), 6);
        fill("ObjectBigArrayBigList", new ObjectBigArrayBigList<>(), 77);
        make("Int2ObjectOpenHashMap", byInt, 50);
        make("Long2ObjectLinkedOpenHashMap", byLong, 50);
        make("Object2IntOpenHashMap", toInt, 50);
        make("Int2IntOpenHashMap", ints, 50);
        make("IntOpenHashSet", set, 50);
    }

    @SuppressWarnings("deprecation")
    static void eclipses() {
        fill("FastList", new FastList<>(), 20);
        fill("UnifiedMap", new UnifiedMap<>(), 80);
        UnifiedMap<Object, Object> clumsy = new UnifiedMap<>();
        UnifiedSet<Object> clumsySet = new UnifiedSet<>();
        for (int i = 0; i < 40; i++) {
            clumsy.put(new Clumsy(i), "value " + i);
            clumsySet.add(new Clumsy(i));
        }
        make("UnifiedMap, chained", clumsy, 40);
        make("UnifiedSet, chained", clumsySet, 40);
        fill("UnifiedSet", new UnifiedSet<>(), 81);
        fill("TreeSortedSet", new TreeSortedSet<>(), 82);
        fill("ConcurrentHashMap of Eclipse", new org.eclipse.collections.impl.map.mutable.ConcurrentHashMap<>(), 83);
        fill("ConcurrentMutableHashMap",
                new ConcurrentMutableHashMap<>(new java.util.concurrent.ConcurrentHashMap<>()), 84);
        fill("TreeSortedMap", new TreeSortedMap<>(), 85);
        make("ArrayStack", ArrayStack.newStackWith("1", "2", "3", "4", "5"), 5);
        IntObjectHashMap<Object> byInt = new IntObjectHashMap<>();
        ObjectIntHashMap<Object> toInt = new ObjectIntHashMap<>();
        FastListMultimap<Object, Object> lists = new FastListMultimap<>();
        for (int i = 0; i < 30; i++) {
            byInt.put(i, "value " + i);
            toInt.put("key " + i, i);
            lists.put("key " + i % 10, "value " + i);
        }
        make("IntObjectHashMap", byInt, 30);
        make("ObjectIntHashMap", toInt, 30);
        make("FastListMultimap", lists, 10);
        make("HashBag", HashBag.newBagWith("a", "b", "a"), 2);
        make("ImmutableList of 3", Lists.immutable.of("1", "2", "3"), 3);
        make("ImmutableList of 12", Lists.immutable.withAll(java.util.Collections.nCopies(12, "x")), 12);
        make("primitive IntArrayList",
                new org.eclipse.collections.impl.list.mutable.primitive.IntArrayList(1, 2, 3, 4), 4);
    }

    static void netty() throws ReflectiveOperationException, InterruptedException {
        Recycler<Pooled> recycler =
                new Recycler<Pooled>(1000, 0, 8) {
                    @Override
                    protected Pooled newObject(Handle<Pooled> handle) {
                        return new Pooled(handle);
                    }
                };
        List<Pooled> taken = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            taken.add(recycler.get());
        }
        taken.forEach(pooled -> pooled.handle.recycle(pooled));
        keys.add(recycler);
        Field field = Recycler.class.getDeclaredField("threadLocal");
        field.setAccessible(true);
        make("Recycler", ((FastThreadLocal<?>) field.get(recycler)).get(), 100);
        io.netty.util.collection.IntObjectHashMap<Object> byInt = new io.netty.util.collection.IntObjectHashMap<>();
        for (int i = 0; i < 30; i++) {
            byInt.put(i, "value " + i);
        }
        make("netty IntObjectHashMap", byInt, 30);
        HashedWheelTimer timer = new HashedWheelTimer(work -> {
            Thread thread = new Thread(work);
            thread.setDaemon(true);
            return thread;
        });
        for (int i = 0; i < 9; i++) {
            timer.newTimeout(timeout -> {}, 1, TimeUnit.HOURS);
        }
        make("HashedWheelTimer", timer, 9);
        Thread thread = new FastThreadLocalThread(() -> {
            for (int i = 0; i < 15; i++) {
                FastThreadLocal<Object> local = new FastThreadLocal<>();
                local.set("local " + i);
                keys.add(local);
            }
            // At the end of a thread its variables are removed.
            InternalThreadLocalMap map = InternalThreadLocalMap.get();
            InternalThreadLocalMap.remove();
            make("InternalThreadLocalMap", map, 15);
        });
        thread.start();
        thread.join();
        DefaultPriorityQueue<Node> nodes =
                new DefaultPriorityQueue<>((a, b) -> Integer.compare(a.hashCode(), b.hashCode()), 4);
        for (int i = 0; i < 19; i++) {
            nodes.add(new Node());
        }
        make("DefaultPriorityQueue", nodes, 19);
        Queue<Object> unbounded = PlatformDependent.newMpscQueue();
        for (int i = 0; i < 3000; i++) {
            unbounded.add("element " + i);
        }
        make("MpscUnboundedArrayQueue", unbounded, 3000);
        Queue<Object> fixed = PlatformDependent.newFixedMpscQueue(64);
        for (int i = 0; i < 40; i++) {
            fixed.add("element " + i);
        }
        make("MpscArrayQueue", fixed, 40);
    }

    static void stores() {
        // So many that the tree has inner pages.
        MVMap<Integer, String> rows = MVStore.open(null).openMap("rows");
        org.ehcache.impl.internal.concurrent.ConcurrentHashMap<Object, Object> tier =
                new org.ehcache.impl.internal.concurrent.ConcurrentHashMap<>();
        com.zaxxer.hikari.util.FastList<Object> statements =
                new com.zaxxer.hikari.util.FastList<>(Object.class);
        for (int i = 0; i < 1000; i++) {
            rows.put(i, "row " + i);
            tier.put("key " + i, "value " + i);
            statements.add("statement " + i);
        }
        make("MVMap", rows, 1000);
        make("MVMap empty", MVStore.open(null).openMap("none"), 0);
        make("ehcache ConcurrentHashMap", tier, 1000);
        org.ehcache.impl.internal.concurrent.ConcurrentHashMap<Object, Object> clumsy =
                new org.ehcache.impl.internal.concurrent.ConcurrentHashMap<>();
        for (int i = 0; i < 100; i++) {
            clumsy.put(new Clumsy(i), i);
        }
        make("ehcache ConcurrentHashMap with trees", clumsy, 100);
        make("hikari FastList", statements, 1000);
        for (BoundedConcurrentHashMap.Eviction eviction : BoundedConcurrentHashMap.Eviction.values()) {
            BoundedConcurrentHashMap<Object, Object> plans =
                    new BoundedConcurrentHashMap<>(10_000, 4, eviction);
            for (int i = 0; i < 1000; i++) {
                plans.put("query " + i, "plan " + i);
            }
            make("BoundedConcurrentHashMap, " + eviction, plans, plans.size());
        }
    }

    public static void main(String[] arguments) throws Exception {
        guava();
        caffeines();
        scalas();
        kotlins();
        fastutils();
        eclipses();
        netty();
        stores();
        Console.readyUntilClosed();
    }
}
