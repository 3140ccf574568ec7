package dev.anthill.internal;

/** Where assertions are made: one object for all that are made at the same place. */
final class Site {
    /** Such as {@code com.app.Main.run(Main.java:12)}, the innermost first, only the program's own. */
    final String[] frames;

    Site(String[] frames) {
        this.frames = frames;
    }
}
