package dev.anthill;

import java.util.List;
import java.util.Objects;

/** A violated assertion, or several equal ones: made in the same place, for objects of the same class that are held in the same
 * way. */
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

    /** For internal use. */
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

    /** The kind of the assertion. */
    public Kind kind() {
        return kind;
    }

    /** The message of the assertion, or null. */
    public String message() {
        return message;
    }

    /** The stack frames where the assertion was made, innermost first, such as {@code com.app.Shop.close(Shop.java:12)}. */
    public List<String> madeAt() {
        return madeAt;
    }

    /** The class of the object. */
    public String className() {
        return className;
    }

    /** The size of the object, or of all objects if there are several; 0 if unknown. */
    public long bytes() {
        return bytes;
    }

    /** The number of equal violations. */
    public long count() {
        return count;
    }

    /** The path from a GC root to the object, one line per step, the root first; empty if unknown. */
    public List<String> path() {
        return paths.isEmpty() ? List.of() : paths.get(0);
    }

    /** All paths: for a shared object one per reference to it, for instances those of a sample. */
    public List<List<String>> paths() {
        return paths;
    }

    /** The violation as text, on several lines. */
    public String text() {
        return text;
    }

    /** The violation as one line of JSON. */
    public String toJson() {
        return json;
    }

    /** The numbers of the violated assertions, for internal use. */
    public long[] assertions() {
        return assertions.clone();
    }

    @Override
    public String toString() {
        return text;
    }
}
