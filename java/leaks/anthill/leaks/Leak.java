package anthill.leaks;

import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/**
 * What a leaking program knows about its leak, and how it talks to whoever started it: it leaks a
 * number of items, prints lines {@code TRUTH key = value}, then {@code READY}. On a line {@code more}
 * it leaks as many again; it ends when standard input is closed.
 *
 * <p>Arguments of every program: items of a step, and {@code --ballast MB} for as many megabytes of
 * honest data beside the leak.
 */
final class Leak {
    private static final int USUAL_ITEMS = 2_000;
    private static final PrintStream OUT =
            new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);

    private static long outsideBytes;

    private final String sentence;
    private String culprit;
    private String[] also = {};
    private String element;
    private int elementsPerItem = 1;
    private String name;
    private String pattern;
    private boolean exact = true;
    private int items = USUAL_ITEMS;

    /** One request, upload, user, … of the program; numbers start at 0 and never come again. */
    interface Step {
        void leak(int number) throws Exception;
    }

    private Leak(String sentence) {
        this.sentence = sentence;
    }

    static Leak of(String sentence) {
        return new Leak(sentence);
    }

    /** The field that a good engineer would want named, as {@code Class.field}. */
    Leak culprit(String field) {
        culprit = field;
        requireField(field);
        return this;
    }

    /** Fields on the way to it, or {@code thread NAME}. */
    Leak also(String... fields) {
        also = fields;
        for (String field : fields) {
            if (!field.startsWith("thread ")) {
                requireField(field);
            }
        }
        return this;
    }

    Leak element(Class<?> type) {
        return element(type.getName(), 1);
    }

    Leak element(String className) {
        return element(className, 1);
    }

    /** The class with {@code perItem} objects for each leaked item, and no others. */
    Leak element(String className, int perItem) {
        requireClass(className);
        element = className;
        elementsPerItem = perItem;
        return this;
    }

    /** What the program calls the place that grows. */
    Leak named(String name) {
        this.name = name;
        return this;
    }

    /** The known way to leak that it is. */
    Leak pattern(String name) {
        pattern = name;
        return this;
    }

    /** There are more objects of the element's class than those that leak. */
    Leak amongOthers() {
        exact = false;
        return this;
    }

    /** How many items a step has if the arguments do not say it. */
    Leak items(int usual) {
        items = usual;
        return this;
    }

    /** Leaks, tells and waits until standard input is closed; does not return. */
    void run(String[] args, Step step) throws Exception {
        int perStep = items;
        for (int i = 0; i < args.length; i++) {
            if (args[i].equals("--ballast")) {
                Ballast.load(Integer.parseInt(args[++i]));
            } else {
                perStep = Integer.parseInt(args[i]);
            }
        }
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        int done = 0;
        String command = "more";
        while (command != null) {
            if (command.equals("more")) {
                int half = done + perStep / 2;
                int end = done + perStep;
                while (done < half) {
                    step.leak(done++);
                }
                // The first half also loads the libraries; the second tells the bytes of an item.
                long before = usedBytes();
                while (done < end) {
                    step.leak(done++);
                }
                tell(done, (usedBytes() - before) / (end - half) * done);
            }
            command = in.readLine();
        }
        System.exit(0);
    }

    private void tell(int done, long bytes) {
        truth("leak", sentence);
        truth("culprit", culprit);
        truth("also", String.join(", ", also));
        truth("element", element);
        truth("elements", (long) done * elementsPerItem);
        truth("exact", exact);
        truth("bytes", bytes);
        if (pattern != null) {
            truth("pattern", pattern);
        }
        if (name != null) {
            truth("named", name);
        }
        if (outsideBytes > 0) {
            truth("outside", outsideBytes);
        }
        OUT.println("READY");
    }

    /** The program now holds as many bytes outside of the heap. */
    static void outside(long bytes) {
        outsideBytes = bytes;
    }

    static void truth(String key, Object value) {
        OUT.println("TRUTH " + key + " = " + value);
    }

    private static long usedBytes() {
        System.gc();
        Runtime runtime = Runtime.getRuntime();
        return runtime.totalMemory() - runtime.freeMemory();
    }

    private static Class<?> requireClass(String name) {
        try {
            return Class.forName(name, false, Leak.class.getClassLoader());
        } catch (ClassNotFoundException e) {
            throw new IllegalArgumentException("no class " + name, e);
        }
    }

    private static void requireField(String field) {
        int dot = field.lastIndexOf('.');
        Class<?> declaring = requireClass(field.substring(0, dot));
        if (declaring == Class.class) {
            // Reflection hides its fields.
            return;
        }
        try {
            declaring.getDeclaredField(field.substring(dot + 1));
        } catch (NoSuchFieldException e) {
            throw new IllegalArgumentException("no field " + field, e);
        }
    }
}
