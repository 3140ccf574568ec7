package anthill.samples;

import java.io.IOException;
import java.lang.ref.PhantomReference;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.SoftReference;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;

/**
 * Every shape a value can have in a heap dump, with values that are known: primitive fields, statics
 * and arrays, shadowed fields, strings and class names beyond ASCII, locals on a thread's stack,
 * references of every strength.
 *
 * <p>No arguments. Characters are printed as hexadecimal UTF-16 units, everything else the way {@code
 * String.valueOf} does it. A key names the class below {@code Shapes} and the field.
 */
final class Shapes {
    static final Primitives primitives = new Primitives();
    static final PrimitiveArrays primitiveArrays = new PrimitiveArrays();
    static final ObjectArrays objectArrays = new ObjectArrays();
    static final Leaf leaf = new Leaf();
    static final Strings strings = new Strings();
    static final Object[] beyondAscii = {new Größe(), new Класс(), new クラス(), new Set𝒳()};
    static final References references = new References();

    private Shapes() {}

    static final class Primitives {
        final boolean aBoolean = true;
        final byte aByte = Byte.MIN_VALUE;
        final char aChar = '€';
        final short aShort = Short.MIN_VALUE;
        final int anInt = Integer.MIN_VALUE;
        final long aLong = Long.MIN_VALUE;
        final float aFloat = -0.0f;
        final double aDouble = Double.NaN;
        final Object nothing = null;

        void tell() {
            Console.truth("Primitives.aBoolean", aBoolean);
            Console.truth("Primitives.aByte", aByte);
            Console.truth("Primitives.aChar", hex(aChar));
            Console.truth("Primitives.aShort", aShort);
            Console.truth("Primitives.anInt", anInt);
            Console.truth("Primitives.aLong", aLong);
            Console.truth("Primitives.aFloat", aFloat);
            Console.truth("Primitives.aDouble", aDouble);
            Console.truth("Primitives.nothing", nothing);
        }
    }

    /** Not final, so that the compiler leaves no constants: the values are in the class alone. */
    static final class Statics {
        static boolean aBoolean = true;
        static byte aByte = -1;
        static char aChar = 'Z';
        static short aShort = 12_345;
        static int anInt = -5;
        static long aLong = 1L << 40;
        static float aFloat = 1.5f;
        static double aDouble = 3.25;
        static String aString = "static text";
        static Object nothing = null;

        private Statics() {}

        static void tell() {
            Console.truth("Statics.aBoolean", aBoolean);
            Console.truth("Statics.aByte", aByte);
            Console.truth("Statics.aChar", hex(aChar));
            Console.truth("Statics.aShort", aShort);
            Console.truth("Statics.anInt", anInt);
            Console.truth("Statics.aLong", aLong);
            Console.truth("Statics.aFloat", aFloat);
            Console.truth("Statics.aDouble", aDouble);
            Console.truth("Statics.aString", aString);
            Console.truth("Statics.nothing", nothing);
        }
    }

    static final class PrimitiveArrays {
        final boolean[] booleans = {true, false, true};
        final byte[] bytes = {-128, 0, 127};
        final char[] chars = {'a', 'ß', '\u65e5', '\ud835'};
        final short[] shorts = {Short.MIN_VALUE, 0, Short.MAX_VALUE};
        final int[] ints = {Integer.MIN_VALUE, 0, Integer.MAX_VALUE};
        final long[] longs = {Long.MIN_VALUE, 0, Long.MAX_VALUE};
        final float[] floats = {Float.NEGATIVE_INFINITY, Float.MIN_VALUE, Float.MAX_VALUE};
        final double[] doubles = {Double.NEGATIVE_INFINITY, Double.MIN_VALUE, Double.MAX_VALUE};
        final int[] empty = {};

        void tell() {
            Console.truth("PrimitiveArrays.booleans", Arrays.toString(booleans));
            Console.truth("PrimitiveArrays.bytes", Arrays.toString(bytes));
            Console.truth("PrimitiveArrays.chars", hex(chars));
            Console.truth("PrimitiveArrays.shorts", Arrays.toString(shorts));
            Console.truth("PrimitiveArrays.ints", Arrays.toString(ints));
            Console.truth("PrimitiveArrays.longs", Arrays.toString(longs));
            Console.truth("PrimitiveArrays.floats", Arrays.toString(floats));
            Console.truth("PrimitiveArrays.doubles", Arrays.toString(doubles));
            Console.truth("PrimitiveArrays.empty", Arrays.toString(empty));
        }
    }

    static final class ObjectArrays {
        final Leaf[] sparse = new Leaf[5];
        final int[][] nested = {{1}, {2, 3}, null};
        final Object[][] mixed = {new String[] {"inner"}, new Object[0]};
        final Leaf[] empty = {};

        ObjectArrays() {
            sparse[3] = new Leaf();
        }

        void tell() {
            Console.truth("ObjectArrays.sparse length", sparse.length);
            Console.truth("ObjectArrays.sparse index in use", 3);
            Console.truth("ObjectArrays.nested", Arrays.deepToString(nested));
            Console.truth("ObjectArrays.mixed", Arrays.deepToString(mixed));
            Console.truth("ObjectArrays.empty", Arrays.toString(empty));
        }
    }

    /** Three levels that use the same names; the small fields leave gaps for the next level. */
    static class Base {
        final int x = 1;
        final byte small = 2;
        final String text = "base";
    }

    static class Middle extends Base {
        final int x = 10;
        final byte small = 20;
        final String text = "middle";
    }

    static final class Leaf extends Middle {
        final long x = 100;
        final byte small = 120;
        final String text = "leaf";

        void tell() {
            Console.truth("Base.x", ((Base) this).x);
            Console.truth("Base.small", ((Base) this).small);
            Console.truth("Base.text", ((Base) this).text);
            Console.truth("Middle.x", ((Middle) this).x);
            Console.truth("Middle.small", ((Middle) this).small);
            Console.truth("Middle.text", ((Middle) this).text);
            Console.truth("Leaf.x", x);
            Console.truth("Leaf.small", small);
            Console.truth("Leaf.text", text);
            // The one in a static field and the one in ObjectArrays.sparse.
            Console.truth("Leaf instances", 2);
        }
    }

    static final class Strings {
        final String ascii = "plain text";
        final String latin1 = "Grüße, señor";
        final String utf16 = "значение 値 €";
        final String supplementary = "𝒳🐜";
        final String empty = "";
        final String loneSurrogate = "\ud835";
        final String longText = "ant ".repeat(5_000);

        void tell() {
            Console.truth("Strings.ascii", ascii);
            Console.truth("Strings.latin1", latin1);
            Console.truth("Strings.utf16", utf16);
            Console.truth("Strings.supplementary", supplementary);
            Console.truth("Strings.empty", empty);
            Console.truth("Strings.loneSurrogate", hex(loneSurrogate.toCharArray()));
            Console.truth("Strings.longText length", longText.length());
        }
    }

    static final class Größe {
        final int größe = 1;
    }

    static final class Класс {
        final String поле = "значение";
    }

    static final class クラス {
        final int 値 = 3;
    }

    /** Its last letter lies outside the Basic Multilingual Plane: two surrogates in a class file. */
    static final class Set𝒳 {
        final int 𝒳 = 4;
    }

    static final class Target {}

    static final class Weak extends WeakReference<Target> {
        Weak(Target target) {
            super(target);
        }
    }

    static final class Soft extends SoftReference<Target> {
        Soft(Target target) {
            super(target);
        }
    }

    static final class Phantom extends PhantomReference<Target> {
        Phantom(Target target, ReferenceQueue<Target> queue) {
            super(target, queue);
        }
    }

    static final class Finalizable {
        @Override
        @SuppressWarnings({"deprecation", "removal"})
        protected void finalize() {}
    }

    /**
     * Some referents are held strongly as well and live on; the others lose their weak or phantom
     * reference at the next full collection, while softly held ones stay as long as memory is plenty.
     */
    static final class References {
        private static final int HELD_WEAKLY_AND_STRONGLY = 2;
        private static final int HELD_WEAKLY = 3;
        private static final int HELD_SOFTLY = 4;
        private static final int HELD_BY_PHANTOM_AND_STRONGLY = 5;
        private static final int FINALIZABLE = 6;

        final List<Target> targets = new ArrayList<>();
        final List<Object> handles = new ArrayList<>();
        final List<Finalizable> finalizable = new ArrayList<>();
        final ReferenceQueue<Target> queue = new ReferenceQueue<>();

        References() {
            for (int i = 0; i < HELD_WEAKLY_AND_STRONGLY; i++) {
                handles.add(new Weak(keep(new Target())));
            }
            for (int i = 0; i < HELD_WEAKLY; i++) {
                handles.add(new Weak(new Target()));
            }
            for (int i = 0; i < HELD_SOFTLY; i++) {
                handles.add(new Soft(new Target()));
            }
            for (int i = 0; i < HELD_BY_PHANTOM_AND_STRONGLY; i++) {
                handles.add(new Phantom(keep(new Target()), queue));
            }
            for (int i = 0; i < FINALIZABLE; i++) {
                finalizable.add(new Finalizable());
            }
        }

        private Target keep(Target target) {
            targets.add(target);
            return target;
        }

        void tell() {
            Console.truth("Weak instances", HELD_WEAKLY_AND_STRONGLY + HELD_WEAKLY);
            Console.truth("Weak instances with a target after a full GC", HELD_WEAKLY_AND_STRONGLY);
            Console.truth("Soft instances", HELD_SOFTLY);
            Console.truth("Phantom instances", HELD_BY_PHANTOM_AND_STRONGLY);
            Console.truth("Finalizable instances", FINALIZABLE);
            Console.truth("Target instances held strongly", targets.size());
            Console.truth("Target instances after a full GC", targets.size() + HELD_SOFTLY);
        }
    }

    /** Only the frame of {@link Holder#hold} keeps the instances of this class alive. */
    static final class Held {
        final int number;

        Held(int number) {
            this.number = number;
        }
    }

    /** A thread that waits with objects in its local variables. */
    static final class Holder implements Runnable {
        static final String NAME = "shapes-holder";

        private final CountDownLatch holding = new CountDownLatch(1);
        private final CountDownLatch done = new CountDownLatch(1);
        private int used;

        @Override
        public void run() {
            hold(new Held(1));
        }

        private void hold(Held argument) {
            Held local = new Held(2);
            Held[] several = {new Held(3), new Held(4)};
            holding.countDown();
            awaitQuietly(done);
            // A local that is never used again is no root.
            used = argument.number + local.number + several.length;
        }

        void tell() {
            Console.truth("thread", NAME);
            Console.truth("method", "hold");
            Console.truth("Held instances", 4);
            Console.truth("Held instances in a local variable", 2);
            Console.truth("Held[] instances in a local variable", 1);
        }
    }

    public static void main(String[] args) throws IOException {
        Holder holder = new Holder();
        Thread thread = new Thread(holder, Holder.NAME);
        thread.setDaemon(true);
        thread.start();
        awaitQuietly(holder.holding);

        primitives.tell();
        Statics.tell();
        primitiveArrays.tell();
        objectArrays.tell();
        leaf.tell();
        strings.tell();
        for (int i = 0; i < beyondAscii.length; i++) {
            Console.truth("class beyond ASCII " + i, beyondAscii[i].getClass().getName());
        }
        Console.truth("Größe.größe", 1);
        Console.truth("Класс.поле", "значение");
        Console.truth("クラス.値", 3);
        Console.truth("Set𝒳.𝒳", 4);
        references.tell();
        holder.tell();
        Console.readyUntilClosed();
        holder.done.countDown();
    }

    private static void awaitQuietly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static String hex(char... units) {
        StringBuilder text = new StringBuilder();
        for (char unit : units) {
            text.append(text.length() == 0 ? "" : " ").append(String.format("%04x", (int) unit));
        }
        return text.toString();
    }
}
