package dev.anthill.internal;

/** The object must not have more than one incoming reference. */
final class Unshared extends Asserted {
    Unshared(Object object, Site site, String message) {
        super(object, site, message);
    }
}
