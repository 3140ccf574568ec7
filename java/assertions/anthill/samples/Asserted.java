package anthill.samples;

import dev.anthill.GcAssertions;
import dev.anthill.Violation;
import java.io.IOException;
import java.util.List;

/**
 * How a program with GC assertions ends: everything is checked, each violation is a line {@code VIOLATION json}, and then it
 * is ready. The program's own words about what is wrong come before that.
 */
final class Asserted {
    private Asserted() {}

    static void checkAndWait() throws IOException {
        List<Violation> violations = GcAssertions.check();
        for (Violation violation : violations) {
            System.out.println("VIOLATION " + violation.toJson());
            System.out.println(violation.text());
        }
        Console.truth("active", GcAssertions.isActive());
        Console.truth("violations", violations.size());
        Console.readyUntilClosed();
    }

    static boolean isFixed(String[] args, int index) {
        return args.length > index && args[index].equals("fixed");
    }
}
