package dev.anthill.junit;

/** The heap cannot be checked here; the message explains why and what to do. */
final class Unavailable extends RuntimeException {
    private static final long serialVersionUID = 1;

    Unavailable(String message) {
        super(message);
    }

    Unavailable(String message, Throwable cause) {
        super(message + ": " + cause, cause);
    }
}
