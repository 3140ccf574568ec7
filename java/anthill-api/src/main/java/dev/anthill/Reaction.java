package dev.anthill;

/** What happens when an assertion does not hold. Listeners are called whatever is chosen. */
public enum Reaction {
    /** It is written to {@code System.err}, and the program goes on. The default. */
    LOG,
    /** Listeners are called, and nothing else happens. */
    CALLBACK,
    /** The next call of {@link GcAssertions}, in whatever thread, throws a {@link GcAssertionError}. */
    THROW,
    /** It is written to {@code System.err}, and the JVM is halted with exit code 70, without shutdown hooks. */
    HALT
}
