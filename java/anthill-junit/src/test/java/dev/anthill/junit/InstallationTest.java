package dev.anthill.junit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class InstallationTest {
    @TempDir
    Path cache;

    @BeforeEach
    void useOwnCache() {
        boolean packed = InstallationTest.class.getResource("/META-INF/anthill/" + Platform.name() + "/SHA256SUMS") != null;
        assumeTrue(packed, "no program is in the jar");
        System.setProperty(Installation.CACHE, cache.toString());
    }

    @AfterEach
    void forgetCache() {
        System.clearProperty(Installation.CACHE);
        System.clearProperty(Installation.HOME);
    }

    @Test
    void manyAtTheSameTimeFindOneWholeFolder() throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(8);
        Callable<Path> find = () -> Installation.find().program();
        Set<Path> found = new HashSet<>();
        for (Future<Path> one : threads.invokeAll(IntStream.range(0, 16).mapToObj(i -> find).collect(Collectors.toList()))) {
            found.add(one.get());
        }
        threads.shutdown();
        assertEquals(1, found.size());
        Path program = found.iterator().next();
        assertTrue(Files.isExecutable(program));
        assertTrue(Files.isRegularFile(program.resolveSibling("libanthill_agent.so")));
        try (Stream<Path> folders = Files.list(cache.resolve("native"))) {
            assertEquals(1, folders.count());
        }
        assertEquals("rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(cache.resolve("native"))));
    }

    @Test
    void aFolderThatOthersCanWriteIsNotUsed() throws IOException {
        Path shared = Files.createDirectory(cache.resolve("native"));
        Files.setPosixFilePermissions(shared, PosixFilePermissions.fromString("rwxrwxrwx"));
        Unavailable refused = assertThrows(Unavailable.class, Installation::find);
        assertTrue(refused.getMessage().contains("is writable by users other than"), refused.getMessage());
    }

    @Test
    void aChosenFolderIsTaken() throws IOException {
        Path program = Installation.find().program();
        System.setProperty(Installation.HOME, program.getParent().toString());
        assertEquals(program, Installation.find().program());
        System.setProperty(Installation.HOME, cache.toString());
        assertThrows(Unavailable.class, Installation::find);
    }

    @Test
    void platformsHaveOneNameEach() {
        assertEquals("linux-x86_64", Platform.name("Linux", "amd64"));
        assertEquals("linux-aarch64", Platform.name("Linux", "aarch64"));
        assertEquals("mac-aarch64", Platform.name("Mac OS X", "arm64"));
        assertEquals("windows-x86_64", Platform.name("Windows 11", "amd64"));
    }
}
