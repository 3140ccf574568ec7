package anthill.samples;

import java.io.IOException;
import java.lang.ref.PhantomReference;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;

/**
 * Objects that nothing keeps alive, each class in its own way: behind weak or phantom references, waiting
 * for their finalizer, or plain garbage. To be dumped without a collection before.
 *
 * <p>No arguments.
 */
final class NotKept {
    private static final int WEAK = 3;
    private static final int PHANTOM = 4;
    private static final int GARBAGE = 5;

    static final List<Object> handles = new ArrayList<>();
    static final ReferenceQueue<Object> queue = new ReferenceQueue<>();

    static int finalized;

    private NotKept() {}

    static final class Weakly {}

    static final class ByPhantom {}

    static final class Finalizable {
        @Override
        @SuppressWarnings({"deprecation", "removal"})
        protected void finalize() {
            // A JVM takes no notice of an empty one.
            finalized++;
        }
    }

    static final class Garbage {}

    public static void main(String[] args) throws IOException {
        drop();
        Console.truth("Weakly instances", WEAK);
        Console.truth("ByPhantom instances", PHANTOM);
        Console.truth("Finalizable instances", 1);
        Console.truth("Garbage instances", GARBAGE);
        Console.readyUntilClosed();
    }

    /** In a frame of its own, so that no local variable is left. */
    private static void drop() {
        for (int i = 0; i < WEAK; i++) {
            handles.add(new WeakReference<>(new Weakly()));
        }
        for (int i = 0; i < PHANTOM; i++) {
            handles.add(new PhantomReference<Object>(new ByPhantom(), queue));
        }
        new Finalizable();
        for (int i = 0; i < GARBAGE; i++) {
            new Garbage();
        }
    }
}
