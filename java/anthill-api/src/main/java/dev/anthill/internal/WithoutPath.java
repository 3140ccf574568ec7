package dev.anthill.internal;

import dev.anthill.Kind;
import dev.anthill.Violation;
import java.util.List;

/** A violation as the JVM alone can tell it: the object is still there, but not why. */
final class WithoutPath {
    private WithoutPath() {}

    static Violation violation(List<Asserted> group, String className, String why) {
        Asserted first = group.get(0);
        Kind kind = first instanceof Dead ? Kind.DEAD : Kind.ALL_DEAD;
        List<String> madeAt = List.of(first.site.frames);
        long[] ids = group.stream().mapToLong(Asserted::id).toArray();
        String text = text(kind, first.message, madeAt, className, ids.length, why);
        String json = json(kind, first.message, madeAt, className, ids.length);
        return new Violation(
                kind, first.message, madeAt, className, 0, ids.length, List.of(), text, json, ids);
    }

    private static String text(
            Kind kind, String message, List<String> madeAt, String className, int count, String why) {
        StringBuilder text = new StringBuilder();
        text.append(kind == Kind.DEAD ? "asserted dead" : "allocated in a region that ended");
        text.append(", but still alive after a full collection: ");
        text.append(count == 1 ? "" : count + " objects of ").append(className);
        if (message != null) {
            text.append("\n  \"").append(message).append('"');
        }
        text.append("\n  asserted at");
        for (String frame : madeAt) {
            text.append("\n    ").append(frame);
        }
        text.append("\n  path unknown: ").append(why);
        return text.toString();
    }

    private static String json(
            Kind kind, String message, List<String> madeAt, String className, int count) {
        StringBuilder json = new StringBuilder("{\"kind\":");
        quote(json, kind.name().toLowerCase(java.util.Locale.ROOT).replace('_', '-'));
        if (message != null) {
            quote(json.append(",\"message\":"), message);
        }
        json.append(",\"made_at\":[");
        for (int i = 0; i < madeAt.size(); i++) {
            quote(json.append(i == 0 ? "" : ","), madeAt.get(i));
        }
        quote(json.append("],\"class\":"), className);
        return json.append(",\"count\":").append(count).append(",\"paths\":[]}").toString();
    }

    private static void quote(StringBuilder json, String text) {
        json.append('"');
        for (char c : text.toCharArray()) {
            if (c == '"' || c == '\\') {
                json.append('\\').append(c);
            } else if (c < ' ') {
                json.append(String.format("\\u%04x", (int) c));
            } else {
                json.append(c);
            }
        }
        json.append('"');
    }
}
