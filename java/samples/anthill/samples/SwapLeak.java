package anthill.samples;

import java.io.IOException;

/**
 * The hidden reference of an inner class as a leak: swapping the {@code Rep}s of two objects makes
 * each keep the other alive, because a Rep remembers the object it was made in. After Aftandilian and
 * Guyer (2009), section 3.2.3.
 *
 * <p>Arguments: length of the array (default 1,000), rounds of swapping (default 10).
 */
final class SwapLeak {
    static SObject[] kept;

    private SwapLeak() {}

    static final class SObject {
        private Rep rep = new Rep();

        final class Rep {
            // Without a use of the outer object, newer compilers leave the reference to it out.
            SObject madeIn() {
                return SObject.this;
            }
        }

        void swap(SObject other) {
            Rep mine = rep;
            rep = other.rep;
            other.rep = mine;
        }
    }

    public static void main(String[] args) throws IOException {
        int length = Console.argument(args, 0, 1_000);
        int rounds = Console.argument(args, 1, 10);

        kept = new SObject[length];
        for (int i = 0; i < length; i++) {
            kept[i] = new SObject();
        }
        for (int round = 0; round < rounds; round++) {
            for (SObject object : kept) {
                object.swap(new SObject());
            }
        }

        Console.truth("objects in the array", length);
        Console.truth("leaked objects", length * rounds);
        Console.truth("objects alive", length * (rounds + 1));
        // From a slot of the array: Rep, SObject, Rep, SObject and so on to the first Rep, whose
        // outer object is the one in the array.
        Console.truth("leaked objects behind one slot", rounds);
        Console.readyUntilClosed();
    }
}
