package dev.anthill.internal;

/** The object must be reachable from its owner as long as it is reachable at all. */
final class OwnedBy extends Asserted {
    final Owner owner;

    OwnedBy(Owner owner, Object ownee, Site site, String message) {
        super(ownee, site, message);
        this.owner = owner;
    }
}
