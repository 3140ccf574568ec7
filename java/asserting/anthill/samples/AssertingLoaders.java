package anthill.samples;

import java.io.IOException;
import java.lang.reflect.Method;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * The API in several class loaders, as web applications have it: each has its own assertions and hears of its own violations.
 *
 * <p>Arguments: the folder of the API's classes.
 */
final class AssertingLoaders {
    static final List<Object> KEPT = new ArrayList<>();

    private AssertingLoaders() {}

    public static void main(String[] args) throws IOException, ReflectiveOperationException {
        Class<?> one = api(args[0]);
        Class<?> other = api(args[0]);
        Console.truth("different", one != other);
        // Both know of the agent before anything is asserted, so that both want it to begin.
        Console.truth("active", isActive(one) && isActive(other));
        assertDead(one, kept());
        assertDead(other, kept());
        assertDead(one, kept());
        assertDead(one, kept());
        assertDead(other, new Object());
        Console.truth("one", count(one));
        Console.truth("other", count(other));
        KEPT.clear();
        Console.truth("none", count(one) + count(other));
        Console.readyUntilClosed();
    }

    private static Object kept() {
        Object kept = new Object();
        KEPT.add(kept);
        return kept;
    }

    // The loader lives as long as its classes.
    @SuppressWarnings("resource")
    private static Class<?> api(String folder) throws MalformedURLException, ClassNotFoundException {
        URL[] path = {Path.of(folder).toUri().toURL()};
        ClassLoader loader = new URLClassLoader(path, ClassLoader.getPlatformClassLoader());
        return loader.loadClass("dev.anthill.GcAssertions");
    }

    private static boolean isActive(Class<?> api) throws ReflectiveOperationException {
        return (Boolean) api.getMethod("isActive").invoke(null);
    }

    private static void assertDead(Class<?> api, Object object) throws ReflectiveOperationException {
        api.getMethod("assertDead", Object.class).invoke(null, object);
    }

    private static long count(Class<?> api) throws ReflectiveOperationException {
        long count = 0;
        for (Object violation : (List<?>) api.getMethod("check").invoke(null)) {
            Method counted = violation.getClass().getMethod("count");
            count += (Long) counted.invoke(violation);
        }
        return count;
    }
}
