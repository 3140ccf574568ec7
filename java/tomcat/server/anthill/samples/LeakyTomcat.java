package anthill.samples;

import java.io.IOException;
import java.io.InputStream;
import java.lang.ref.WeakReference;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.catalina.Context;
import org.apache.catalina.core.StandardContext;
import org.apache.catalina.startup.ContextConfig;
import org.apache.catalina.startup.Tomcat;

/**
 * A Tomcat with the same web application deployed twice: {@code /shop} is undeployed after a request,
 * but something still holds its class loader; {@code /outlet} goes on running and is no leak.
 *
 * <p>What Tomcat does about leaks by itself, and how the leaks happen nevertheless:
 *
 * <ul>
 *   <li>It would stop threads of the web application with {@code clearReferencesStopThreads},
 *       which is off by default and here.
 *   <li>It would renew its pool threads, and so lose their thread-local values, with {@code
 *       renewThreadsWhenStoppingContext} and a {@code ThreadLocalLeakPreventionListener}: the former
 *       is off here, the latter is not installed.
 *   <li>It always takes out JDBC drivers that are registered when the application stops, so the
 *       driver is registered later, by a task that the application left with the server.
 *   <li>It does nothing about shutdown hooks and static fields of other loaders.
 * </ul>
 */
public final class LeakyTomcat {
    private static final int COLLECTIONS = 50;

    private final Tomcat tomcat = new Tomcat();
    private final Path base;
    private final Path classes;

    private LeakyTomcat(Path base, Path classes) {
        this.base = base;
        this.classes = classes;
    }

    /** Arguments: how to leak, the classes of the web application, a folder for Tomcat, products. */
    public static void main(String[] args) throws Exception {
        String leak = args[0];
        int products = Integer.parseInt(args[3]);

        LeakyTomcat server = new LeakyTomcat(Path.of(args[2]).toAbsolutePath(), Path.of(args[1]));
        server.start();
        server.deploy("outlet");
        Console.truth("products of outlet", server.fill("outlet", "none", products));
        WeakReference<ClassLoader> loader = server.deployAndUndeploy(leak, products);
        SharedRegistry.runTasks();
        Console.truth("leaked loaders", isAlive(loader, leak.equals("none")) ? 1 : 0);
        Console.readyUntilClosed();
        // Threads of Tomcat and of the application would keep the JVM alive.
        System.exit(0);
    }

    /** In a method of its own, so that no local variable holds the application afterwards. */
    private WeakReference<ClassLoader> deployAndUndeploy(String leak, int products) throws Exception {
        Context shop = deploy("shop");
        Console.truth("products of shop", fill("shop", leak, products));
        ClassLoader loader = shop.getLoader().getClassLoader();
        Console.truth("loader class", loader.getClass().getName());
        tomcat.getHost().removeChild(shop);
        return new WeakReference<>(loader);
    }

    private void start() throws Exception {
        tomcat.setBaseDir(base.toString());
        tomcat.setPort(0);
        tomcat.getConnector().setProperty("address", "127.0.0.1");
        // One pool thread answers every request.
        tomcat.getConnector().setProperty("maxThreads", "1");
        tomcat.getConnector().setProperty("minSpareThreads", "1");
        // JSPs, which it would add, need more libraries.
        tomcat.setAddDefaultWebXmlToWebapp(false);
        // Made here, or the connector would look for it in vain while it starts.
        tomcat.getHost();
        tomcat.start();
    }

    /** Writes an application and starts it. */
    private Context deploy(String name) throws IOException {
        Path application = base.resolve("webapps").resolve(name);
        copy(classes, application.resolve("WEB-INF/classes"));
        ContextConfig config = new ContextConfig();
        config.setDefaultWebXml(tomcat.noDefaultWebXmlPath());
        Context context =
                tomcat.addWebapp(tomcat.getHost(), "/" + name, application.toString(), config);
        ((StandardContext) context).setRenewThreadsWhenStoppingContext(false);
        return context;
    }

    private String fill(String name, String leak, int products) throws IOException {
        int port = tomcat.getConnector().getLocalPort();
        String query = "/fill?leak=" + leak + "&products=" + products;
        URI uri = URI.create("http://127.0.0.1:" + port + "/" + name + query);
        try (InputStream answer = uri.toURL().openStream()) {
            return new String(answer.readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    private static boolean isAlive(WeakReference<?> reference, boolean shouldDie)
            throws InterruptedException {
        // The JVM collects class loaders in a full collection, but what hangs on references and
        // idle connections may take several.
        int collections = shouldDie ? COLLECTIONS : 3;
        for (int i = 0; i < collections && reference.get() != null; i++) {
            System.gc();
            Thread.sleep(50);
        }
        return reference.get() != null;
    }

    private static void copy(Path from, Path to) throws IOException {
        List<Path> files;
        try (Stream<Path> walk = Files.walk(from)) {
            files = walk.filter(Files::isRegularFile).collect(Collectors.toList());
        }
        for (Path file : files) {
            Path copy = to.resolve(from.relativize(file));
            Files.createDirectories(copy.getParent());
            Files.copy(file, copy, StandardCopyOption.REPLACE_EXISTING);
        }
    }
}
