package dev.anthill;

import java.util.List;

/** Assertions that did not hold, thrown where {@link Reaction#THROW} was chosen. */
public final class GcAssertionError extends AssertionError {
    private static final long serialVersionUID = 1;

    private final transient List<Violation> violations;

    /** For Anthill itself. */
    public GcAssertionError(List<Violation> violations) {
        super(text(violations));
        this.violations = List.copyOf(violations);
    }

    /** What was found; empty after the error was serialized. */
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
