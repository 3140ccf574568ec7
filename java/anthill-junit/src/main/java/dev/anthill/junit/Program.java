package dev.anthill.junit;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** Runs the program {@code anthill} outside of this JVM. */
final class Program {
    private static final File NOTHING = new File("/dev/null");

    private final Path program;

    Program(Path program) {
        this.program = program;
    }

    /** What it prints on standard output. */
    String run(List<String> arguments) {
        List<String> command = new ArrayList<>();
        command.add(program.toString());
        command.addAll(arguments);
        String what = "anthill " + String.join(" ", arguments);
        try {
            ProcessBuilder builder = new ProcessBuilder(command);
            // Options for JVMs are not for what the program starts.
            builder.environment().remove("JAVA_TOOL_OPTIONS");
            Process process = builder.redirectInput(ProcessBuilder.Redirect.from(NOTHING)).start();
            // Not in a pool: tests may run in all of its threads.
            CompletableFuture<String> said = CompletableFuture.supplyAsync(
                    () -> read(process.getErrorStream()), reader -> new Thread(reader, "anthill").start());
            String printed = read(process.getInputStream());
            int code = process.waitFor();
            if (code != 0) {
                throw new Unavailable("`" + what + "` exited with code " + code + ":\n" + said.join().strip());
            }
            return printed;
        } catch (IOException e) {
            throw new Unavailable("`" + what + "` failed to start", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new Unavailable("`" + what + "` was interrupted", e);
        }
    }

    private static String read(InputStream stream) {
        try (stream) {
            return new String(stream.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
