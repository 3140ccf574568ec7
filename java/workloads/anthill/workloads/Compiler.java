package anthill.workloads;

import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import javax.tools.ForwardingJavaFileManager;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileManager;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

/** Compiles generated sources in memory, as a build would: a class, an enum and its switch table each. */
final class Compiler extends Workload {
    private static final int CLASSES = 150;
    private final JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();

    private static final class Source extends SimpleJavaFileObject {
        private final String text;

        Source(String name, String text) {
            super(URI.create("string:///" + name + ".java"), Kind.SOURCE);
            this.text = text;
        }

        @Override
        public CharSequence getCharContent(boolean ignoreEncodingErrors) {
            return text;
        }
    }

    /** Takes the class files in. */
    private static final class Memory extends ForwardingJavaFileManager<StandardJavaFileManager> {
        private int files;

        Memory(StandardJavaFileManager manager) {
            super(manager);
        }

        @Override
        public JavaFileObject getJavaFileForOutput(JavaFileManager.Location location, String name,
                JavaFileObject.Kind kind, javax.tools.FileObject sibling) {
            files++;
            return new SimpleJavaFileObject(URI.create("mem:///" + name + ".class"), kind) {
                @Override
                public OutputStream openOutputStream() {
                    return new ByteArrayOutputStream();
                }
            };
        }
    }

    @Override
    void round(int number) throws Exception {
        List<Source> sources = new ArrayList<>();
        for (int made = 0; made < CLASSES; made++) {
            sources.add(source(number, made));
        }
        try (Memory memory = new Memory(compiler.getStandardFileManager(null, null, null))) {
            boolean compiled = compiler.getTask(null, memory, null, List.of("-Xlint:none"), null, sources).call();
            check("compiled", 1, compiled ? 1 : 0);
            check("class files", 3 * CLASSES, memory.files);
        }
    }

    private static Source source(int round, int number) {
        StringBuilder text = new StringBuilder();
        String name = "Made" + number;
        text.append("import java.util.*; import java.util.stream.*;\n");
        text.append("public class ").append(name).append("<T extends Comparable<T>> {\n");
        text.append("  enum Kind { A, B, C }\n");
        for (int method = 0; method < 20; method++) {
            text.append("  Map<String, List<T>> m").append(method).append("(Collection<? extends T> in) {\n")
                    .append("    int sum = ").append(round).append(";\n")
                    .append("    for (T t : in) { switch (Kind.values()[sum % 3]) { case A: sum += t.hashCode();")
                    .append(" break; default: sum -= 3; } }\n")
                    .append("    String s = \"\" + sum;\n")
                    .append("    return in.stream().sorted(Comparator.reverseOrder())")
                    .append(".collect(Collectors.groupingBy(t -> s + t.toString()));\n  }\n");
        }
        return new Source(name, text.append("}\n").toString());
    }

    public static void main(String[] arguments) throws Exception {
        new Compiler().run();
    }
}
