package dev.anthill.junit;

import dev.anthill.GcAssertions;
import java.util.List;

/** Anthill's agent in this JVM: there already, or loaded when the first test needs it. */
final class Agent {
    private static final long PATIENCE_NANOS = 30_000_000_000L;

    private static Agent loaded;
    private static Unavailable refused;

    private final Program program;

    private Agent(Program program) {
        this.program = program;
    }

    /** The same for all tests of a JVM, also if it cannot be loaded: trying again would take as long. */
    static synchronized Agent load() {
        if (refused != null) {
            throw refused;
        }
        if (loaded == null) {
            try {
                loaded = new Agent(new Program(Installation.find().program()));
                loaded.attach();
            } catch (Unavailable e) {
                refused = e;
                throw e;
            }
        }
        return loaded;
    }

    Program program() {
        return program;
    }

    /** A JVM may not attach to itself; the program may. */
    private void attach() {
        if (GcAssertions.isActive()) {
            return;
        }
        program.run(List.of("attach", Long.toString(ProcessHandle.current().pid()), "--assertions"));
        if (!becomesActive()) {
            throw new Unavailable("Anthill's agent was loaded into this JVM, but does not respond\nCheck the class path for another"
                    + " version of anthill-api.");
        }
    }

    /** The agent tells the API that it is there beside the answer to who attached it. */
    private static boolean becomesActive() {
        long deadline = System.nanoTime() + PATIENCE_NANOS;
        while (!GcAssertions.isActive() && System.nanoTime() < deadline) {
            try {
                Thread.sleep(5);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                break;
            }
        }
        return GcAssertions.isActive();
    }
}
