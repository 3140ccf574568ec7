package anthill.workloads;

import com.sun.management.OperatingSystemMXBean;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.Locale;

/** What all workloads share: rounds, checks, and what each round took. */
abstract class Workload {
    private long checks;

    abstract void round(int number) throws Exception;

    /** A result that must be right; a recorded program computes what an unrecorded one does. */
    final void check(String what, long expected, long actual) {
        checks++;
        if (expected != actual) {
            System.err.println("WRONG " + what + ": expected " + expected + ", got " + actual);
            System.exit(3);
        }
    }

    /** Does a round for each line of standard input. */
    final void run() throws Exception {
        var system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        System.out.println("READY");
        for (int number = 0; input.readLine() != null; number++) {
            long start = System.nanoTime();
            long cpu = system.getProcessCpuTime();
            round(number);
            System.out.printf(Locale.ROOT, "TURN rounds=1 wall=%.4f cpu=%.4f%n",
                    (System.nanoTime() - start) / 1e9, (system.getProcessCpuTime() - cpu) / 1e9);
        }
        System.out.printf("DONE %s checks=%d%n", getClass().getSimpleName(), checks);
    }
}
