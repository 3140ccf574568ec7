package anthill.samples;

import dev.anthill.GcAssertionError;
import dev.anthill.GcAssertions;
import dev.anthill.Kind;
import dev.anthill.Reaction;
import dev.anthill.Violation;
import java.io.IOException;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Makes assertions that hold or not, has them checked and tells what came back.
 *
 * <p>Commands are a kind of assertion and {@code leak} or {@code fixed}: {@code dead leak}; what was leaked is forgotten before the
 * next. {@code later dead leak} asserts without a check. {@code begin} and {@code end} are those of a region, {@code allocate 100}
 * allocates. Others: {@code check}, {@code throw}, {@code million}, {@code collect}, {@code stranger}.
 */
final class Asserting {
    /** Everything that is kept alive by mistake. */
    static final List<Object> KEPT = new ArrayList<>();

    static final Map<String, Session> SESSIONS = new HashMap<>();
    static Table table = new Table();
    static Order newest;

    static class Session {
        final String name;

        Session(String name) {
            this.name = name;
        }

        void close(boolean forget) {
            if (forget) {
                SESSIONS.remove(name);
            }
            GcAssertions.assertDead(this, "closed sessions");
        }
    }

    static final class AdminSession extends Session {
        AdminSession(String name) {
            super(name);
        }
    }

    static final class Node {
        final List<Node> children = new ArrayList<>();
    }

    static final class Table {
        final Map<Integer, Object> orders = new HashMap<>();
    }

    static final class Order {}

    private Asserting() {}

    public static void main(String[] args) throws IOException {
        List<Violation> heard = new ArrayList<>();
        GcAssertions.addListener(
                violation -> {
                    synchronized (heard) {
                        heard.add(violation);
                    }
                });
        Console.truth("active", GcAssertions.isActive());
        String command = Console.ready();
        while (command != null) {
            run(command);
            synchronized (heard) {
                Console.truth("heard", heard.size());
            }
            Console.truth("active", GcAssertions.isActive());
            command = Console.ready();
        }
    }

    private static void run(String command) {
        String[] words = command.split(" ");
        switch (words[0]) {
            case "check":
                tell(GcAssertions.check());
                break;
            case "later":
                scenario(words[1], words[2].equals("leak"));
                break;
            case "collect":
                System.gc();
                break;
            case "begin":
                GcAssertions.startRegion();
                break;
            case "end":
                GcAssertions.assertAllDead("between two commands");
                break;
            case "allocate":
                allocate(Integer.parseInt(words[1]));
                break;
            case "stranger":
                stranger();
                break;
            case "million":
                million();
                break;
            case "throw":
                react();
                break;
            case "halt":
                GcAssertions.react(Kind.DEAD, Reaction.HALT);
                scenario("dead", true);
                tell(GcAssertions.check());
                break;
            default:
                forget();
                scenario(words[0], words[1].equals("leak"));
                tell(GcAssertions.check());
        }
    }

    private static void forget() {
        KEPT.clear();
        SESSIONS.clear();
        table = new Table();
    }

    private static void scenario(String kind, boolean leak) {
        switch (kind) {
            case "dead":
                open(20);
                closeAll(!leak);
                break;
            case "instances":
                open(leak ? 5 : 3);
                GcAssertions.assertInstances(Session.class, 3, "few sessions");
                GcAssertions.assertDirectInstances(AdminSession.class, 0);
                break;
            case "unshared":
                tree(leak);
                break;
            case "owned":
                orders(leak);
                break;
            case "region":
                request(false);
                region(leak);
                break;
            default:
                throw new IllegalArgumentException(kind);
        }
    }

    private static void open(int sessions) {
        for (int i = 0; i < sessions; i++) {
            SESSIONS.put("s" + i, new Session("s" + i));
        }
    }

    private static void closeAll(boolean forget) {
        for (int i = 0; i < 20; i++) {
            SESSIONS.get("s" + i).close(forget);
        }
    }

    private static void tree(boolean leak) {
        Node root = new Node();
        KEPT.add(root);
        Node child = new Node();
        root.children.add(child);
        Node other = new Node();
        root.children.add(other);
        GcAssertions.assertUnshared(child, "the tree is a tree");
        GcAssertions.assertUnshared(other, "the tree is a tree");
        if (leak) {
            other.children.add(child);
        }
    }

    private static void orders(boolean leak) {
        for (int i = 0; i < 100; i++) {
            Order order = new Order();
            table.orders.put(i, order);
            GcAssertions.assertOwnedBy(table, order);
            // A second reference is fine as long as the table has it.
            KEPT.add(order);
        }
        for (int i = 0; i < 10; i++) {
            Object removed = table.orders.remove(i);
            if (!leak) {
                KEPT.remove(removed);
            }
        }
    }

    private static void region(boolean leak) {
        GcAssertions.startRegion();
        // What the inner one allocates is not the outer one's.
        GcAssertions.startRegion();
        request(leak);
        GcAssertions.assertAllDead("one request");
        GcAssertions.assertAllDead("around it");
    }

    private static void request(boolean leak) {
        for (int i = 0; i < 100; i++) {
            Order order = new Order();
            if (leak && i < 7) {
                KEPT.add(order);
            } else if (order.hashCode() == 1) {
                KEPT.add("never");
            }
        }
    }

    private static void allocate(int orders) {
        for (int i = 0; i < orders; i++) {
            // What is never looked at would not be allocated.
            newest = new Order();
        }
    }

    /** A thread with a class loader of its own asserts something. Tells whether the loader is still there when the thread has gone. */
    private static void stranger() {
        WeakReference<ClassLoader> loader = new WeakReference<>(new ClassLoader(null) {});
        Thread thread = new Thread(() -> GcAssertions.assertDead(new Object()));
        thread.setContextClassLoader(loader.get());
        thread.start();
        try {
            thread.join();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
        thread = null;
        tell(GcAssertions.check());
        System.gc();
        Console.truth("kept", loader.get() != null);
    }

    /** Asserts a million objects dead that are. */
    private static void million() {
        int number = 1_000_000;
        for (int warm = 0; warm < 20_000; warm++) {
            GcAssertions.assertDead(new Object());
        }
        long start = System.nanoTime();
        for (int i = 0; i < number; i++) {
            GcAssertions.assertDead(new Object());
        }
        Console.truth("ns", (System.nanoTime() - start) / number);
        tell(GcAssertions.check());
        System.gc();
        Runtime runtime = Runtime.getRuntime();
        Console.truth("used", runtime.totalMemory() - runtime.freeMemory());
    }

    /** What a check finds is thrown by the next call. */
    private static void react() {
        forget();
        GcAssertions.react(Kind.DEAD, Reaction.THROW);
        scenario("dead", true);
        GcAssertions.check();
        try {
            GcAssertions.assertDead(new Object());
            Console.truth("thrown", "nothing");
        } catch (GcAssertionError e) {
            Console.truth("thrown", e.violations().size());
            Console.truth("message", e.getMessage().replace("\n", " | "));
        }
        GcAssertions.react(Kind.DEAD, Reaction.LOG);
    }

    private static void tell(List<Violation> violations) {
        Console.truth("found", violations.size());
        for (int i = 0; i < violations.size(); i++) {
            Violation one = violations.get(i);
            Console.truth(i + ".kind", one.kind());
            Console.truth(i + ".message", one.message());
            Console.truth(i + ".class", one.className());
            Console.truth(i + ".count", one.count());
            Console.truth(i + ".bytes", one.bytes());
            Console.truth(i + ".made", String.join(" | ", one.madeAt()));
            Console.truth(i + ".path", String.join(" | ", one.path()));
            Console.truth(i + ".paths", one.paths().size());
            Console.truth(i + ".text", one.text().replace("\n", " | "));
            Console.truth(i + ".json", one.toJson());
        }
    }
}
