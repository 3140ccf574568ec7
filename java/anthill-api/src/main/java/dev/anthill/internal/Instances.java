package dev.anthill.internal;

/** The class that is the referent must not have more than so many instances. */
final class Instances extends Asserted {
    final int max;
    final boolean subclasses;

    Instances(Class<?> type, int max, boolean subclasses, Site site, String message) {
        super(type, site, message);
        this.max = max;
        this.subclasses = subclasses;
    }
}
