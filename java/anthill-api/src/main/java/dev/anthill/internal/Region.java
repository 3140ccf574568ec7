package dev.anthill.internal;

import java.util.Arrays;

/** A region that was asserted to be all dead. */
public final class Region {
    final long id;
    /** The number that was given when it ended. */
    final long ended;

    final Site site;
    final String message;
    /** Only these matter; all if there are none. */
    private final Class<?>[] types;

    /** The numbers of those that are assertions now, in ascending order. */
    private long[] survivors = {};

    private int found;

    Region(long id, Site site, String message, Class<?>[] types) {
        this.id = id;
        this.ended = Agent.nextId();
        this.site = site;
        this.message = message;
        this.types = types;
    }

    boolean concerns(Object object) {
        for (Class<?> type : types) {
            if (type.isInstance(object)) {
                return true;
            }
        }
        return types.length == 0;
    }

    synchronized Survivor survivor(Object object) {
        Survivor survivor = new Survivor(object, this);
        if (found == survivors.length) {
            survivors = Arrays.copyOf(survivors, Math.max(16, 2 * found));
        }
        survivors[found++] = survivor.id;
        return survivor;
    }

    synchronized boolean isSurvivor(long id) {
        return Arrays.binarySearch(survivors, 0, found, id) >= 0;
    }
}
