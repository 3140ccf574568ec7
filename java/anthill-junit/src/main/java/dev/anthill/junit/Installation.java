package dev.anthill.junit;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.nio.file.attribute.UserPrincipal;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Stream;

/**
 * The directory with the program {@code anthill} and its agent. They come from a jar on the class path and are unpacked once for
 * all JVMs of a user. The directory is named after its contents and appears in one step, so test processes never see a part of it.
 */
final class Installation {
    /** A directory to use instead of the contents of the jar. */
    static final String HOME = "dev.anthill.home";
    /** The directory to unpack the contents of the jar to. */
    static final String CACHE = "dev.anthill.cache";

    private static final String PROGRAM = "anthill";
    private static final String SUMS = "SHA256SUMS";

    private final Path folder;

    private Installation(Path folder) {
        this.folder = folder;
    }

    static Installation find() {
        String home = System.getProperty(HOME);
        if (home != null) {
            return new Installation(checked(Path.of(home), HOME + "=" + home + ": no executable `anthill` in this directory"));
        }
        String place = "META-INF/anthill/" + Platform.name() + "/";
        try (InputStream sums = resource(place + SUMS)) {
            if (sums == null) {
                throw new Unavailable("the jar anthill-native does not support the platform " + Platform.name()
                        + " (it has no " + place + ")\nUse linux-x86_64, or build Anthill and set -D" + HOME
                        + "=DIR to the directory with anthill and its agent. java/anthill-native/README.md explains how to"
                        + " add a platform to the jar.");
            }
            return new Installation(unpacked(place, sums.readAllBytes()));
        } catch (IOException e) {
            throw new Unavailable("cannot unpack the jar anthill-native; set -D" + CACHE
                    + "=DIR to use another directory", e);
        }
    }

    Path program() {
        return folder.resolve(PROGRAM);
    }

    private static Path checked(Path folder, String otherwise) {
        if (!Files.isExecutable(folder.resolve(PROGRAM))) {
            throw new Unavailable(otherwise);
        }
        return folder.toAbsolutePath();
    }

    private static InputStream resource(String name) {
        return Installation.class.getClassLoader().getResourceAsStream(name);
    }

    private static Path unpacked(String place, byte[] sums) throws IOException {
        Path cache = cache();
        Path complete = cache.resolve("native-" + hex(digest().digest(sums)).substring(0, 24));
        if (Files.isDirectory(complete)) {
            return checked(complete, complete + " is incomplete; delete it and try again");
        }
        Path partial = cache.resolve("partial-" + UUID.randomUUID());
        Files.createDirectory(partial);
        try {
            for (Map.Entry<String, String> file : files(sums).entrySet()) {
                unpack(place + file.getKey(), file.getValue(), partial.resolve(file.getKey()));
            }
            appear(partial, complete);
        } finally {
            delete(partial);
        }
        return complete;
    }

    /** Another process may be first; what it made is the same. */
    private static void appear(Path partial, Path complete) throws IOException {
        try {
            Files.move(partial, complete);
        } catch (FileSystemException e) {
            if (!Files.isDirectory(complete)) {
                throw e;
            }
        }
    }

    private static void unpack(String name, String expected, Path to) throws IOException {
        MessageDigest digest = digest();
        try (InputStream from = resource(name); OutputStream file = Files.newOutputStream(to)) {
            if (from == null) {
                throw new IOException("the jar does not contain " + name);
            }
            byte[] buffer = new byte[1 << 16];
            for (int read = from.read(buffer); read >= 0; read = from.read(buffer)) {
                digest.update(buffer, 0, read);
                file.write(buffer, 0, read);
            }
        }
        if (!hex(digest.digest()).equals(expected)) {
            throw new IOException(name + " in the jar is damaged");
        }
        Files.setPosixFilePermissions(to, PosixFilePermissions.fromString("rwx------"));
    }

    /** As {@code sha256sum} writes them: the sum, two spaces, the name. */
    private static Map<String, String> files(byte[] sums) throws IOException {
        Map<String, String> files = new LinkedHashMap<>();
        for (String line : new String(sums, StandardCharsets.UTF_8).split("\n")) {
            String[] parts = line.split("[ *]+", 2);
            if (parts.length != 2 || parts[1].contains("/")) {
                throw new IOException("malformed line in " + SUMS + ": " + line);
            }
            files.put(parts[1].trim(), parts[0]);
        }
        return files;
    }

    /** A directory that only this user can write to, because its files are executed. */
    private static Path cache() throws IOException {
        String chosen = System.getProperty(CACHE);
        String xdg = System.getenv("XDG_CACHE_HOME");
        Path home = Path.of(System.getProperty("user.home", "/nonexistent"));
        Path folder;
        if (chosen != null) {
            folder = Path.of(chosen);
        } else if (xdg != null && !xdg.isEmpty()) {
            folder = Path.of(xdg, "anthill");
        } else if (Files.isWritable(home)) {
            folder = home.resolve(".cache/anthill");
        } else {
            folder = Path.of(System.getProperty("java.io.tmpdir"), "anthill-" + System.getProperty("user.name"));
        }
        Path unpacked = folder.toAbsolutePath().resolve("native");
        Files.createDirectories(unpacked, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        Set<PosixFilePermission> others = EnumSet.of(PosixFilePermission.GROUP_WRITE, PosixFilePermission.OTHERS_WRITE);
        others.retainAll(Files.getPosixFilePermissions(unpacked, LinkOption.NOFOLLOW_LINKS));
        // A user without an entry in the list of users has no name, but an own process.
        UserPrincipal me = Files.getOwner(Path.of("/proc/self"));
        if (!others.isEmpty() || !Files.getOwner(unpacked, LinkOption.NOFOLLOW_LINKS).equals(me)) {
            throw new IOException(unpacked + " is writable by users other than " + me.getName());
        }
        return unpacked;
    }

    private static void delete(Path folder) throws IOException {
        if (!Files.isDirectory(folder)) {
            return;
        }
        try (Stream<Path> files = Files.list(folder)) {
            for (Path file : (Iterable<Path>) files::iterator) {
                Files.delete(file);
            }
        }
        Files.delete(folder);
    }

    private static MessageDigest digest() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }

    private static String hex(byte[] bytes) {
        StringBuilder text = new StringBuilder();
        for (byte one : bytes) {
            text.append(String.format("%02x", one));
        }
        return text.toString();
    }
}
