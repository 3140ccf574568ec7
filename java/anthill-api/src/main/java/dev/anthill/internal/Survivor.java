package dev.anthill.internal;

/** The object was allocated in a region that was asserted to be all dead. */
final class Survivor extends Asserted {
    final Region region;

    Survivor(Object object, Region region) {
        super(object, region.site, region.message);
        this.region = region;
    }
}
