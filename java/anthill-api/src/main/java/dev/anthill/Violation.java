package dev.anthill;

import java.util.List;
import java.util.Objects;

/** An assertion that does not hold, or several equal ones: made at the same place, for objects of the same class that are held
 * in the same way. */
public final class Violation {
    private final Kind kind;
    private final String message;
    private final List<String> madeAt;
    private final String className;
    private final long bytes;
    private final long count;
    private final List<List<String>> paths;
    private final String text;
    private final String json;
    private final long[] assertions;

    /** For Anthill itself. */
    public Violation(
            Kind kind,
            String message,
            List<String> madeAt,
            String className,
            long bytes,
            long count,
            List<List<String>> paths,
            String text,
            String json,
            long[] assertions) {
        this.kind = Objects.requireNonNull(kind);
        this.message = message;
        this.madeAt = List.copyOf(madeAt);
        this.className = className;
        this.bytes = bytes;
        this.count = count;
        this.paths = List.copyOf(paths);
        this.text = text;
        this.json = json;
        this.assertions = assertions.clone();
    }

    /** What was asserted. */
    public Kind kind() {
        return kind;
    }

    /** The message of the assertion; null if it has none. */
    public String message() {
        return message;
    }

    /** Where the assertion was made, the innermost frame first, such as {@code com.app.Shop.close(Shop.java:12)}. */
    public List<String> madeAt() {
        return madeAt;
    }

    /** The class of the object. */
    public String className() {
        return className;
    }

    /** The size of the object, or of all objects if there are several; 0 if it is not known. */
    public long bytes() {
        return bytes;
    }

    /** How many equal violations this is. */
    public long count() {
        return count;
    }

    /** The path from a GC root to the object, a line each, the root first; empty if it is not known. */
    public List<String> path() {
        return paths.isEmpty() ? List.of() : paths.get(0);
    }

    /** All paths: of a shared object one for each reference to it, of instances those of a sample. */
    public List<List<String>> paths() {
        return paths;
    }

    /** Everything in words, on several lines. */
    public String text() {
        return text;
    }

    /** Everything as one line of JSON. */
    public String toJson() {
        return json;
    }

    /** The numbers of the assertions that do not hold, for Anthill itself. */
    public long[] assertions() {
        return assertions.clone();
    }

    @Override
    public String toString() {
        return text;
    }
}
