package anthill.samples;

import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/**
 * How a sample program talks to whoever started it: what it knows about its own heap as lines
 * {@code TRUTH key = value}, then {@code READY}; after that it waits for commands on standard input
 * and ends when that is closed.
 */
final class Console {
    private static final PrintStream OUT =
            new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);
    private static final BufferedReader IN =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));

    private Console() {}

    static void truth(String key, Object value) {
        OUT.println("TRUTH " + key + " = " + value);
    }

    /** Says that the heap is complete and returns the next command, or null when there is none. */
    static String ready() throws IOException {
        sayReady();
        return command();
    }

    static void sayReady() {
        OUT.println("READY");
    }

    /** Waits until there is a command or the end of them, without memory of its own. */
    static void awaitCommand() throws IOException {
        System.in.mark(1);
        System.in.read();
        System.in.reset();
    }

    /** The next command, or null when there is none. */
    static String command() throws IOException {
        return IN.readLine();
    }

    /** Says that the heap is complete and keeps it until standard input is closed. */
    static void readyUntilClosed() throws IOException {
        String command = ready();
        while (command != null) {
            command = IN.readLine();
        }
    }

    /** The program's argument at {@code index}, or {@code otherwise} when it was not given. */
    static int argument(String[] args, int index, int otherwise) {
        return index < args.length ? Integer.parseInt(args[index]) : otherwise;
    }
}
