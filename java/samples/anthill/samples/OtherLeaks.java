package anthill.samples;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;

/**
 * Three leaks that do not look like one: weak keys that their own values hold, memory outside of the
 * heap, and finalizers that cannot keep up.
 *
 * <p>Arguments: {@code weak}, {@code buffers} or {@code finalizers}, and how many (default 5,000).
 */
final class OtherLeaks {
    static final Map<Key, Value> values = new WeakHashMap<>();
    static final List<ByteBuffer> buffers = new ArrayList<>();

    private OtherLeaks() {}

    static final class Key {}

    static final class Value {
        final Key key;
        final byte[] data = new byte[500];

        Value(Key key) {
            this.key = key;
        }
    }

    static final class Slow {
        @Override
        @SuppressWarnings({"deprecation", "removal"})
        protected void finalize() throws InterruptedException {
            Thread.sleep(Long.MAX_VALUE);
        }
    }

    public static void main(String[] args) throws IOException, InterruptedException {
        int count = Console.argument(args, 1, 5_000);
        switch (args[0]) {
            case "weak":
                for (int i = 0; i < count; i++) {
                    Key key = new Key();
                    values.put(key, new Value(key));
                }
                break;
            case "buffers":
                for (int i = 0; i < count; i++) {
                    buffers.add(ByteBuffer.allocateDirect(1_000));
                }
                // Views own nothing.
                buffers.add(buffers.get(0).duplicate());
                break;
            default:
                for (int i = 0; i < count; i++) {
                    new Slow();
                }
                System.gc();
                Thread.sleep(1_000);
        }
        Console.truth("count", count);
        Console.readyUntilClosed();
    }
}
