package anthill.samples;

import java.util.HashMap;
import java.util.Map;

/** Finds products by name. Never cleared: the other half of the leak in {@link MultiCache}. */
final class NameCache {
    static final Map<String, Product> nameCache = new HashMap<>();

    private NameCache() {}
}
