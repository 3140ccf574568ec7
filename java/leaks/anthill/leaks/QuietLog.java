package anthill.leaks;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import org.slf4j.LoggerFactory;

/** Logback prints everything to standard output if it has no configuration; there it would be in the way. */
final class QuietLog {
    private QuietLog() {}

    static void setUp() {
        ((Logger) LoggerFactory.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME)).setLevel(Level.ERROR);
    }
}
