package anthill.workloads;

/** What all workloads share: rounds, checks and the closing line. */
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

    final void run(String[] arguments) throws Exception {
        int rounds = Integer.parseInt(arguments[0]);
        long start = System.nanoTime();
        for (int number = 0; number < rounds; number++) {
            round(number);
        }
        double seconds = (System.nanoTime() - start) / 1e9;
        System.out.printf(java.util.Locale.ROOT, "DONE %s wall=%.3f checks=%d%n",
                getClass().getSimpleName(), seconds, checks);
    }
}
