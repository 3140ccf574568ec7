package dev.anthill.internal;

import java.lang.ref.WeakReference;

/** One assertion. Its referent is the object it is about, held weakly: the collector itself says when that is dead. */
public abstract class Asserted extends WeakReference<Object> {
    final long id;
    final Site site;
    /** Null if there is none. */
    final String message;
    /** Whether its violation was reported already. */
    boolean reported;

    Asserted(Object object, Site site, String message) {
        super(object);
        this.id = Agent.nextId();
        this.site = site;
        this.message = message;
    }

    /** The number that a violation names. */
    public final long id() {
        return id;
    }
}
