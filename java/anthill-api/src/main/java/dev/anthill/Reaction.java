package dev.anthill;

/** The reaction to a violated assertion. Listeners are always called. */
public enum Reaction {
    /** Print the violation to {@code System.err}. The default. */
    LOG,
    /** Only call the listeners. */
    CALLBACK,
    /** Throw a {@link GcAssertionError} from the next call of {@link GcAssertions}, on any thread. */
    THROW,
    /** Print the violation to {@code System.err} and halt the JVM with exit code 70, without shutdown hooks. */
    HALT
}
