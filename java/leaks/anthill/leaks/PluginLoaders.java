package anthill.leaks;

/**
 * A server reloads its invoice plug-in with a class loader of its own each time it was changed. The old
 * plug-in's timer runs on, and with it live its classes, their static fields and the class loader.
 */
final class PluginLoaders {
    private PluginLoaders() {}

    public static void main(String[] args) throws Exception {
        PluginHost host = new PluginHost();
        Leak.of("each reload of a plug-in leaves its timer running, which keeps the old class loader")
                .culprit("java.util.TimerThread.queue")
                .also("thread invoice-timer", "java.util.TaskQueue.queue")
                .element(ChildFirstLoader.class)
                .items(15)
                .run(args, number -> host.reload());
    }
}

final class PluginHost {
    private Runnable plugin;

    void reload() throws ReflectiveOperationException {
        ClassLoader loader = new ChildFirstLoader("anthill.leaks.InvoicePlugin", "anthill.leaks.Words");
        plugin = (Runnable) loader.loadClass("anthill.leaks.InvoicePlugin").getDeclaredConstructor().newInstance();
        plugin.run();
    }
}
