package anthill.samples;

import dev.anthill.GcAssertions;
import java.io.IOException;

/**
 * The hidden reference of an inner class, found by an assertion: after a swap the new object should be dead. After Aftandilian
 * and Guyer (2009), section 3.2.3.
 *
 * <p>Argument: {@code fixed} makes a Rep that does not remember where it was made.
 */
final class AssertedSwap {
    private static final int LENGTH = 50;

    static SObject[] array;

    private AssertedSwap() {}

    private interface Rep {
        String text();
    }

    static final class SObject {
        private final String name;
        private Rep rep;

        SObject(String name, boolean fixed) {
            this.name = name;
            rep = fixed ? new FreeRep() : new InnerRep();
        }

        final class InnerRep implements Rep {
            @Override
            public String text() {
                return SObject.this.name;
            }
        }

        static final class FreeRep implements Rep {
            @Override
            public String text() {
                return "free";
            }
        }

        void swap(SObject other) {
            Rep mine = rep;
            rep = other.rep;
            other.rep = mine;
        }
    }

    public static void main(String[] args) throws IOException {
        boolean fixed = Asserted.isFixed(args, 0);
        fill(fixed);
        Console.truth("kept", fixed ? 0 : LENGTH);
        Asserted.checkAndWait();
    }

    private static void fill(boolean fixed) {
        array = new SObject[LENGTH];
        for (int i = 0; i < LENGTH; i++) {
            array[i] = new SObject("kept " + i, fixed);
        }
        for (SObject object : array) {
            SObject temporary = new SObject("temporary", fixed);
            object.swap(temporary);
            GcAssertions.assertDead(temporary, "after the swap nobody needs it");
        }
    }
}
