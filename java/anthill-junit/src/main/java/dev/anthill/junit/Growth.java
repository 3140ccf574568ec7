package dev.anthill.junit;

import com.sun.management.HotSpotDiagnosticMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.function.Executable;

/**
 * Runs something again and again and looks for what grows with every run: data structures first, and where none is known
 * that holds the newcomers, classes. What grows once, as caches and loaded classes do, is no growth; neither is what grows as
 * fast while nothing is run.
 */
final class Growth implements AutoCloseable {
    /** Runs before the first look at the heap: what is made once is there after them. */
    private static final int WARM_UP = 2;
    private static final int MOST_NAMED = 5;
    private static final int MOST_CLASSES = 3;
    private static final int PATH_LINES = 14;
    /** What follows the paths is about dumps that are gone when it is read. */
    private static final String AFTER_PATHS = "held: ";

    private final Program program;
    private final Path folder;
    private final List<Path> states = new ArrayList<>();

    Growth(Program program) {
        this.program = program;
        try {
            folder = Files.createTempDirectory("anthill-growth");
        } catch (IOException e) {
            throw new Unavailable("cannot create a temporary directory for heap dumps", e);
        }
    }

    /** What grows with every run, in words; null if nothing does. */
    String of(Executable run, int repeat) throws Throwable {
        repeat(run, WARM_UP);
        takeState();
        long start = System.nanoTime();
        int[] steps = {repeat / 2, repeat - repeat / 2};
        for (int runs : steps) {
            repeat(run, runs);
            takeState();
        }
        long took = System.nanoTime() - start;

        List<Grown> structures = structures(steps);
        List<Grown> classes = structures.isEmpty() ? classes(steps) : List.of();
        if (structures.isEmpty() && classes.isEmpty()) {
            return null;
        }
        // The same time without a run: what grows now, too, is somebody else's.
        Thread.sleep(took / 1_000_000);
        takeState();
        Set<String> others = growing(states.size() - 2, !structures.isEmpty());
        Predicate<Grown> ours = one -> !others.contains(one.key);
        List<Grown> found = Stream.concat(structures.stream(), classes.stream()).filter(ours).collect(Collectors.toList());
        return found.isEmpty() ? null : words(found, repeat);
    }

    private static void repeat(Executable run, int runs) throws Throwable {
        for (int i = 0; i < runs; i++) {
            run.execute();
        }
    }

    private void takeState() throws IOException {
        Path state = folder.resolve(states.size() + ".hprof");
        HotSpotDiagnosticMXBean diagnostic = ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class);
        if (diagnostic == null) {
            throw new Unavailable("this JVM cannot write heap dumps: it has no HotSpotDiagnosticMXBean (module jdk.management)");
        }
        diagnostic.dumpHeap(state.toString(), true);
        states.add(state);
    }

    /** Something that grows: how it is recognised in another state, and what is said about it. */
    private static final class Grown {
        final String key;
        final List<String> lines;

        Grown(String key, List<String> lines) {
            this.key = key;
            this.lines = lines;
        }
    }

    /** Data structures with a new element in every second run at least, in each of the steps. */
    private List<Grown> structures(int[] steps) {
        List<Grown> grown = new ArrayList<>();
        for (Json.Node one : ask("growth", 0, states.size(), "--limit", "0", "--least", "0").get("structures").list()) {
            List<Long> elements = numbers(one.get("elements"));
            if (!grows(elements, steps, runs -> Math.max(1, runs / 2))) {
                continue;
            }
            List<String> lines = new ArrayList<>();
            lines.add(one.get("name").text());
            lines.add("    elements " + arrows(elements) + ", retains " + arrows(numbers(one.get("retained"))) + " bytes");
            one.get("newcomers").list().stream().filter(newcomer -> newcomer.get("objects").number() > 0).limit(MOST_CLASSES)
                    .forEach(newcomer -> lines.add(String.format(Locale.ROOT, "    new: %,d %s",
                            newcomer.get("objects").number(), newcomer.get("class").text())));
            grown.add(new Grown(one.get("name").text(), lines));
        }
        return grown.stream().limit(MOST_NAMED).collect(Collectors.toList());
    }

    /** Classes with a new instance in every run, in each of the steps, and the paths to them: the program's own if there are any. */
    private List<Grown> classes(int[] steps) {
        List<Grown> grown = new ArrayList<>();
        for (Json.Node row : ask("diff", 0, states.size()).get("rows").list()) {
            List<Long> objects = row.get("figures").list().stream().map(one -> one.get("objects").number())
                    .collect(Collectors.toList());
            if (grows(objects, steps, runs -> runs)) {
                String instances = "    instances " + arrows(objects) + ", in no known data structure";
                grown.add(new Grown(row.get("name").text(), List.of(row.get("name").text(), instances)));
            }
        }
        List<Grown> own = grown.stream().filter(one -> !one.key.matches("(java|jdk|sun)\\..*|.*\\[]")).collect(Collectors.toList());
        return (own.isEmpty() ? grown : own).stream().limit(MOST_NAMED).map(this::withPaths).collect(Collectors.toList());
    }

    private Grown withPaths(Grown grown) {
        String last = states.get(states.size() - 1).toString();
        String paths = program.run(List.of("paths", last, grown.key, "--no-progress", "--index", index()));
        Stream<String> lines = paths.lines().takeWhile(line -> !line.startsWith(AFTER_PATHS)).limit(PATH_LINES);
        return new Grown(grown.key, Stream.concat(grown.lines.stream(), lines.map(line -> "    " + line))
                .collect(Collectors.toList()));
    }

    /** What grew from a state to the next, by the names that structures or classes have. */
    private Set<String> growing(int from, boolean structures) {
        Set<String> names = new HashSet<>();
        int[] one = {1};
        if (structures) {
            for (Json.Node row : ask("growth", from, from + 2, "--limit", "0", "--least", "0", "--inside").get("structures").list()) {
                if (grows(numbers(row.get("elements")), one, runs -> runs)) {
                    names.add(row.get("name").text());
                }
            }
        } else {
            for (Json.Node row : ask("diff", from, from + 2).get("rows").list()) {
                if (row.get("objects_change").number() > 0) {
                    names.add(row.get("name").text());
                }
            }
        }
        return names;
    }

    private interface Least {
        long of(int runs);
    }

    private static boolean grows(List<Long> figures, int[] steps, Least least) {
        if (figures.size() != steps.length + 1) {
            return false;
        }
        for (int step = 0; step < steps.length; step++) {
            if (figures.get(step + 1) - figures.get(step) < least.of(steps[step])) {
                return false;
            }
        }
        return true;
    }

    private Json.Node ask(String command, int from, int to, String... options) {
        List<String> arguments = new ArrayList<>();
        arguments.add(command);
        states.subList(from, to).forEach(state -> arguments.add(state.toString()));
        arguments.addAll(List.of("--json", "--no-progress", "--index", index()));
        arguments.addAll(List.of(options));
        return Json.parse(program.run(arguments));
    }

    private String index() {
        return folder.resolve("index").toString();
    }

    private static List<Long> numbers(Json.Node node) {
        return node.list().stream().map(Json.Node::number).collect(Collectors.toList());
    }

    private static String arrows(List<Long> figures) {
        return figures.stream().map(one -> String.format(Locale.ROOT, "%,d", one)).collect(Collectors.joining(" → "));
    }

    private static String words(List<Grown> found, int repeat) {
        String lines = found.stream().flatMap(one -> one.lines.stream()).map(line -> "  " + line)
                .collect(Collectors.joining("\n"));
        return "the heap grows with every run (" + repeat + " runs; figures before, halfway and after):\n" + lines;
    }

    @Override
    public void close() {
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path file : (Iterable<Path>) files.sorted(Comparator.reverseOrder())::iterator) {
                Files.deleteIfExists(file);
            }
        } catch (IOException e) {
            // Left for whoever cleans the folder for temporary files; the test is not to blame.
        }
    }
}
