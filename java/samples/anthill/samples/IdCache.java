package anthill.samples;

import java.util.HashMap;
import java.util.Map;

/** Finds products by number. Never cleared: one half of the leak in {@link MultiCache}. */
final class IdCache {
    static final Map<Long, Product> idCache = new HashMap<>();

    private IdCache() {}
}
