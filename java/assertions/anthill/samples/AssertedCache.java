package anthill.samples;

import dev.anthill.GcAssertions;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;

/**
 * Elements that live in a map and are also found by a cache beside it; the cache must not outlive the map's word. The example
 * of Aftandilian and Guyer (2009), section 2.5.2.
 *
 * <p>Argument: {@code fixed} takes what was removed out of the cache, too.
 */
final class AssertedCache {
    private static final int ELEMENTS = 300;
    private static final int REMOVED = 40;

    static final Map<Integer, Element> OWNER = new TreeMap<>();
    static final Map<String, Element> CACHE = new HashMap<>();

    private AssertedCache() {}

    static final class Element {
        final String name;

        Element(String name) {
            this.name = name;
        }
    }

    public static void main(String[] args) throws IOException {
        boolean fixed = Asserted.isFixed(args, 0);
        fill();
        remove(fixed);
        Console.truth("stray", fixed ? 0 : REMOVED);
        Asserted.checkAndWait();
    }

    private static void fill() {
        for (int number = 0; number < ELEMENTS; number++) {
            Element element = new Element("element " + number);
            OWNER.put(number, element);
            CACHE.put(element.name, element);
            GcAssertions.assertOwnedBy(OWNER, element, "elements belong to the map");
        }
    }

    private static void remove(boolean fixed) {
        for (int number = 0; number < REMOVED; number++) {
            Element removed = OWNER.remove(number);
            if (fixed) {
                CACHE.remove(removed.name);
            }
        }
    }
}
