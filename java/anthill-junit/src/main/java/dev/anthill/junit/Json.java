package dev.anthill.junit;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Reads what the program writes with {@code --json}: objects as maps, arrays as lists, numbers as doubles. */
final class Json {
    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    static Json.Node parse(String text) {
        Json json = new Json(text);
        Object value = json.value();
        json.skipSpace();
        if (json.at != text.length()) {
            throw json.odd();
        }
        return new Node(value);
    }

    /** A value and what is in it; what is not there is null, zero, or empty. */
    static final class Node {
        private final Object value;

        private Node(Object value) {
            this.value = value;
        }

        Node get(String key) {
            return new Node(value instanceof Map ? ((Map<?, ?>) value).get(key) : null);
        }

        List<Node> list() {
            List<Node> nodes = new ArrayList<>();
            if (value instanceof List) {
                ((List<?>) value).forEach(one -> nodes.add(new Node(one)));
            }
            return nodes;
        }

        String text() {
            return String.valueOf(value);
        }

        boolean isNull() {
            return value == null;
        }

        boolean isTrue() {
            return Boolean.TRUE.equals(value);
        }

        /** Zero if there is no number. */
        long number() {
            return value instanceof Double ? ((Double) value).longValue() : 0;
        }
    }

    private Object value() {
        skipSpace();
        switch (peek()) {
            case '{':
                return object();
            case '[':
                return array();
            case '"':
                return string();
            default:
                return word();
        }
    }

    private Map<String, Object> object() {
        Map<String, Object> object = new LinkedHashMap<>();
        at++;
        while (!ends('}', object.isEmpty())) {
            skipSpace();
            String key = string();
            skipSpace();
            expect(':');
            object.put(key, value());
        }
        return object;
    }

    private List<Object> array() {
        List<Object> array = new ArrayList<>();
        at++;
        while (!ends(']', array.isEmpty())) {
            array.add(value());
        }
        return array;
    }

    /** Whether the list ends here; otherwise passes the comma before the next item. */
    private boolean ends(char end, boolean first) {
        skipSpace();
        if (peek() == end) {
            at++;
            return true;
        }
        if (!first) {
            expect(',');
        }
        return false;
    }

    private String string() {
        expect('"');
        StringBuilder string = new StringBuilder();
        while (peek() != '"') {
            char next = text.charAt(at++);
            string.append(next == '\\' ? escaped() : next);
        }
        at++;
        return string.toString();
    }

    private char escaped() {
        char kind = peek();
        at++;
        switch (kind) {
            case 'n':
                return '\n';
            case 't':
                return '\t';
            case 'r':
                return '\r';
            case 'b':
                return '\b';
            case 'f':
                return '\f';
            case 'u':
                if (at + 4 > text.length()) {
                    throw odd();
                }
                at += 4;
                return (char) Integer.parseInt(text.substring(at - 4, at), 16);
            default:
                return kind;
        }
    }

    private Object word() {
        int from = at;
        while (at < text.length() && ",]} \n\t\r".indexOf(text.charAt(at)) < 0) {
            at++;
        }
        String word = text.substring(from, at);
        switch (word) {
            case "null":
                return null;
            case "true":
                return true;
            case "false":
                return false;
            default:
                try {
                    return Double.valueOf(word);
                } catch (NumberFormatException e) {
                    throw odd();
                }
        }
    }

    private void skipSpace() {
        while (at < text.length() && Character.isWhitespace(text.charAt(at))) {
            at++;
        }
    }

    private char peek() {
        if (at >= text.length()) {
            throw odd();
        }
        return text.charAt(at);
    }

    private void expect(char expected) {
        if (peek() != expected) {
            throw odd();
        }
        at++;
    }

    private IllegalArgumentException odd() {
        return new IllegalArgumentException("invalid JSON at offset " + at + ": " + text.substring(0, Math.min(text.length(), 200)));
    }
}
