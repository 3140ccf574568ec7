package dev.anthill.internal;

/** The object must be dead. */
final class Dead extends Asserted {
    Dead(Object object, Site site, String message) {
        super(object, site, message);
    }
}
