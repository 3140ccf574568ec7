package anthill.samples;

import com.sun.management.OperatingSystemMXBean;
import dev.anthill.GcAssertions;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Random;

/**
 * A database in memory of the shape of SPEC's {@code _209_db}, which Aftandilian and Guyer (2009), section 3.1, measure: 15,000
 * entries in one table that are added, deleted, found and sorted. Every entry is asserted to be owned by its table, and what is
 * taken out to be dead: over a whole run 15,553 owner pairs and 695 dead objects, as theirs.
 *
 * <p>Arguments: how many turns it takes to replace all that is replaced, and how many rounds of work a turn has. For each line
 * {@code turn} of standard input it does one and prints what that took; after {@code assert} it makes the assertions, for all
 * entries that are there and for what comes. At the end of the input it prints a number that depends on all the work.
 */
final class AddressBook {
    private static final int ENTRIES = 15_000;
    private static final int REPLACED = 553;
    private static final int DROPPED_INDEXES = 695 - REPLACED;
    private static final int FIELDS = 7;
    private static final int FINDS = 40;

    private boolean asserted;
    private String handedOut;
    private final Random random = new Random(209);
    private final List<Entry> table = new ArrayList<>();
    private Entry[] index = {};
    private long nextNumber;

    static final class Entry {
        final String[] fields = new String[FIELDS];

        Entry(long number, Random random) {
            for (int field = 0; field < FIELDS; field++) {
                fields[field] = "field " + field + " of " + number + ", " + random.nextInt(1_000_000);
            }
        }
    }

    public static void main(String[] args) throws IOException {
        int rounds = Integer.parseInt(args[1]);
        int allRounds = Integer.parseInt(args[0]) * rounds;
        AddressBook book = new AddressBook();
        while (book.table.size() < ENTRIES) {
            book.table.add(book.entry());
        }
        var system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        boolean asserts = false;
        long result = 0;
        int round = 0;
        System.out.println("READY");
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            if (line.equals("assert")) {
                asserts = true;
                continue;
            }
            long start = System.nanoTime();
            long cpu = system.getProcessCpuTime();
            if (asserts) {
                book.beginToAssert();
            }
            for (int end = round + rounds; round < end; round++) {
                result = result * 31 + book.work(round % allRounds, allRounds);
            }
            System.out.printf(Locale.ROOT, "TURN rounds=%d wall=%.4f cpu=%.4f%n", rounds,
                    (System.nanoTime() - start) / 1e9, (system.getProcessCpuTime() - cpu) / 1e9);
        }
        System.out.println("DONE " + result);
    }

    private void beginToAssert() {
        if (!asserted) {
            asserted = true;
            table.forEach(this::assertOwned);
        }
    }

    private void assertOwned(Entry entry) {
        GcAssertions.assertOwnedBy(table, entry, "entries live in the table");
    }

    private Entry entry() {
        Entry entry = new Entry(nextNumber++, random);
        if (asserted) {
            assertOwned(entry);
        }
        return entry;
    }

    /** Each round does the same work and its share of the replacements. */
    private long work(int round, int rounds) {
        for (int i = share(REPLACED, round, rounds); i > 0; i--) {
            replace(random.nextInt(table.size()));
        }
        for (int i = share(DROPPED_INDEXES, round, rounds); i > 0; i--) {
            dropIndex();
        }
        sort(round % FIELDS);
        long found = 0;
        for (int i = 0; i < FINDS; i++) {
            found += find(round % FIELDS, Integer.toString(random.nextInt(100_000)));
        }
        return found;
    }

    private static int share(int all, int round, int rounds) {
        return (int) ((long) all * (round + 1) / rounds - (long) all * round / rounds);
    }

    private void replace(int place) {
        Entry removed = table.set(place, entry());
        // The index has it, too, until the next sorting.
        index = new Entry[0];
        if (asserted) {
            GcAssertions.assertDead(removed, "a deleted entry is gone");
        }
    }

    private void dropIndex() {
        Entry[] dropped = index;
        index = new Entry[0];
        if (asserted) {
            GcAssertions.assertDead(dropped, "an index that was dropped is gone");
        }
    }

    private void sort(int field) {
        index = table.toArray(new Entry[0]);
        Arrays.sort(index, Comparator.comparing((Entry entry) -> entry.fields[field]));
    }

    private long find(int field, String text) {
        long found = 0;
        for (Entry entry : index) {
            // A copy of what is looked at, as a database that hands out values makes; kept, so that no compiler leaves it out.
            String value = entry.fields[field].substring(entry.fields[field].indexOf(',') + 2);
            handedOut = value;
            if (value.endsWith(text)) {
                found++;
            }
        }
        return found;
    }
}
