package dev.anthill.internal;

/** A region that was asserted to be all dead. */
final class Region {
    final long id;
    final Site site;
    final String message;

    Region(long id, Site site, String message) {
        this.id = id;
        this.site = site;
        this.message = message;
    }
}
