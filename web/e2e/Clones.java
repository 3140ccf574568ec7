import java.io.InputStream;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * What names are in real applications: one class in several class loaders, fields that subclasses
 * shadow, and several fields of one name, which obfuscators make.
 */
public class Clones {
    static final List<Object> KEPT = new ArrayList<>();

    /** Defined once in each class loader, with data of its own. */
    public static class Tenant {
        static final Map<String, Object> CACHE = new HashMap<>();
        static final List<String> NAMES = new ArrayList<>();

        public Tenant() {
            for (int i = 0; i < 4000; i++) {
                CACHE.put("key " + i, new Order(i));
                NAMES.add(new String("the same name"));
            }
        }
    }

    public static class Order {
        final int number;
        final byte[] content = new byte[200];

        Order(int number) {
            this.number = number;
        }
    }

    static class Base {
        Object value = "of Base";
        int count = 1;
    }

    static class Middle extends Base {
        Object value = "of Middle";
        long count = 2;
    }

    static class Lowest extends Middle {
        String value = "of Lowest";
        double count = 3;
    }

    /** Its fields get one name before it is loaded: in class files only name and type together are unique. */
    public static class Shrunk {
        public Object fieldA = "first";
        public String fieldB = "second";
        public int fieldC = 3;
        public static Object staticA = "first static";
        public static String staticB = "second static";
    }

    /** A loader that shares no class of this file with others. */
    static class Isolated extends ClassLoader {
        Isolated() {
            super(Clones.class.getClassLoader());
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.startsWith("Clones$")) return super.loadClass(name, resolve);
            Class<?> loaded = findLoadedClass(name);
            return loaded == null ? define(name) : loaded;
        }

        private Class<?> define(String name) throws ClassNotFoundException {
            try (InputStream in = Clones.class.getResourceAsStream(name + ".class")) {
                byte[] code = in.readAllBytes();
                if (name.endsWith("$Shrunk")) {
                    for (String other : List.of("fieldB", "fieldC")) replace(code, other, "fieldA");
                    replace(code, "staticB", "staticA");
                }
                return defineClass(name, code, 0, code.length);
            } catch (java.io.IOException failed) {
                throw new ClassNotFoundException(name, failed);
            }
        }

        /** Replaces a name by one of the same length. */
        private static void replace(byte[] code, String old, String name) {
            for (int at = 0; at + old.length() <= code.length; at++) {
                boolean found = true;
                for (int i = 0; i < old.length() && found; i++) found = code[at + i] == old.charAt(i);
                for (int i = 0; found && i < old.length(); i++) code[at + i] = (byte) name.charAt(i);
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        for (int i = 0; i < 4; i++) {
            ClassLoader loader = new Isolated();
            for (String name : List.of("Clones$Tenant", "Clones$Shrunk"))
                KEPT.add(loader.loadClass(name).getConstructor().newInstance());
        }
        KEPT.add(new Lowest());
        System.out.println("READY");
        System.in.read();
    }
}
