package dev.anthill.internal;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.ref.Reference;
import java.util.Arrays;
import java.util.Objects;
import java.util.function.Consumer;

/**
 * All assertions that are not settled. What has come true is dropped when an array is full, so that memory follows the number of objects that are
 * alive, and whenever assertions are counted; no thread works for it.
 */
public final class Ledger {
    /** Threads that assert at the same time seldom meet. */
    private static final int STRIPES = 16;

    private static final Stripe[] STRIPE = new Stripe[STRIPES];
    private static final ClassValue<Instances[]> LIMITS =
            new ClassValue<>() {
                @Override
                protected Instances[] computeValue(Class<?> type) {
                    return new Instances[2];
                }
            };

    /** Asks without making the object reachable; null before Java 16. */
    private static final MethodHandle REFERS_TO = refersTo();

    static {
        Arrays.setAll(STRIPE, i -> new Stripe());
    }

    private Ledger() {}

    public static Asserted dead(Object object, String message) {
        if (object == null) {
            return null;
        }
        boolean inRegion = begin();
        try {
            return keep(new Dead(object, Sites.here(), message));
        } finally {
            Regions.stepBack(inRegion);
        }
    }

    public static Asserted unshared(Object object, String message) {
        if (object == null) {
            return null;
        }
        boolean inRegion = begin();
        try {
            return keep(new Unshared(object, Sites.here(), message));
        } finally {
            Regions.stepBack(inRegion);
        }
    }

    public static Asserted ownedBy(Object owner, Object ownee, String message) {
        if (owner == null || ownee == null) {
            return null;
        }
        boolean inRegion = begin();
        try {
            return keep(new OwnedBy(stripe().owner(owner), ownee, Sites.here(), message));
        } finally {
            Regions.stepBack(inRegion);
        }
    }

    public static Asserted instances(Class<?> type, int max, boolean subclasses, String message) {
        if (type == null) {
            return null;
        }
        boolean inRegion = begin();
        try {
            Instances[] limits = LIMITS.get(type);
            int place = subclasses ? 1 : 0;
            synchronized (limits) {
                Instances old = limits[place];
                boolean kept = old != null && !isCleared(old);
                if (kept && old.max == max && Objects.equals(old.message, message)) {
                    Scope.add(old);
                    return old;
                }
                if (kept) {
                    old.clear();
                }
                limits[place] = new Instances(type, max, subclasses, Sites.here(), message);
                return keep(limits[place]);
            }
        } finally {
            Regions.stepBack(inRegion);
        }
    }

    /** A limit that is checked once, whatever limits there are. */
    static Asserted instancesNow(Class<?> type, int max, boolean subclasses, String message) {
        boolean inRegion = begin();
        try {
            return keep(new Instances(type, max, subclasses, Sites.here(), message));
        } finally {
            Regions.stepBack(inRegion);
        }
    }

    /** What an assertion begins with; whether this thread is in a region, which it has left until the assertion is made. */
    private static boolean begin() {
        Checks.throwWhatWaits();
        Agent.ready();
        return Regions.stepOut();
    }

    private static Asserted keep(Asserted asserted) {
        Scope.add(asserted);
        boolean swept = stripe().add(asserted);
        if (swept && Agent.isAlone()) {
            Checks.aloneAfterCollection();
        }
        return asserted;
    }

    static void add(Asserted asserted) {
        stripe().add(asserted);
    }

    private static Stripe stripe() {
        return STRIPE[(int) (Thread.currentThread().getId() % STRIPES)];
    }

    /** Drops what has come true; how many are left to check, in the order of {@link dev.anthill.Kind}. Whose lifetime was reported counts only if
     * that is wanted. */
    static long[] count(boolean reported) {
        long[] counts = new long[5];
        forEach(
                asserted -> {
                    boolean settled = asserted.reported && !reported;
                    if (asserted instanceof Dead) {
                        counts[0] += settled ? 0 : 1;
                    } else if (asserted instanceof Survivor) {
                        counts[1] += settled ? 0 : 1;
                    } else if (asserted instanceof Instances) {
                        counts[2]++;
                    } else if (asserted instanceof Unshared) {
                        counts[3]++;
                    } else {
                        counts[4]++;
                    }
                });
        return counts;
    }

    /** Visits what is left to check, and drops the rest. */
    static void forEach(Consumer<Asserted> visitor) {
        for (Stripe stripe : STRIPE) {
            stripe.sweep(visitor);
        }
    }

    /** Nothing is asserted any more. */
    static void clear() {
        for (Stripe stripe : STRIPE) {
            stripe.clear();
        }
    }

    static boolean isCleared(Reference<Object> reference) {
        if (REFERS_TO == null) {
            return reference.get() == null;
        }
        try {
            return (boolean) REFERS_TO.invokeExact(reference, (Object) null);
        } catch (Throwable e) {
            return reference.get() == null;
        }
    }

    private static MethodHandle refersTo() {
        try {
            MethodType type = MethodType.methodType(boolean.class, Object.class);
            return MethodHandles.publicLookup().findVirtual(Reference.class, "refersTo", type);
        } catch (ReflectiveOperationException olderJava) {
            return null;
        }
    }

    /** A part of the assertions under a lock of its own. */
    private static final class Stripe {
        private static final int SMALLEST = 64;

        private Asserted[] kept = new Asserted[SMALLEST];
        private int size;
        /** Many objects in a row mostly have the same owner. */
        private Owner lastOwner;

        /** Whether what has come true was dropped. */
        synchronized boolean add(Asserted asserted) {
            boolean full = size == kept.length;
            if (full) {
                sweep(left -> {});
                if (size > kept.length / 2) {
                    kept = Arrays.copyOf(kept, 2 * kept.length);
                }
            }
            kept[size++] = asserted;
            return full;
        }

        synchronized void sweep(Consumer<Asserted> visitor) {
            int left = 0;
            for (int i = 0; i < size; i++) {
                Asserted asserted = kept[i];
                if (!isCleared(asserted)) {
                    kept[left++] = asserted;
                    visitor.accept(asserted);
                }
            }
            Arrays.fill(kept, left, size, null);
            size = left;
            if (kept.length > SMALLEST && size < kept.length / 8) {
                kept = Arrays.copyOf(kept, Math.max(SMALLEST, 2 * size));
            }
        }

        synchronized void clear() {
            for (int i = 0; i < size; i++) {
                kept[i].clear();
            }
            kept = new Asserted[SMALLEST];
            size = 0;
            lastOwner = null;
        }

        synchronized Owner owner(Object owner) {
            if (lastOwner == null || lastOwner.get() != owner) {
                lastOwner = new Owner(owner);
            }
            return lastOwner;
        }
    }
}
