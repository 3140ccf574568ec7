package dev.anthill;

import java.util.List;

/** Thrown for violated assertions of a kind whose reaction is {@link Reaction#THROW}. */
public final class GcAssertionError extends AssertionError {
    private static final long serialVersionUID = 1;

    private final transient List<Violation> violations;

    /** For internal use. */
    public GcAssertionError(List<Violation> violations) {
        super(text(violations));
        this.violations = List.copyOf(violations);
    }

    /** The violations; empty after deserialization. */
    public List<Violation> violations() {
        return violations == null ? List.of() : violations;
    }

    private static String text(List<Violation> violations) {
        StringBuilder text = new StringBuilder();
        for (Violation violation : violations) {
            text.append(text.length() == 0 ? "" : System.lineSeparator()).append(violation.text());
        }
        return text.toString();
    }
}
