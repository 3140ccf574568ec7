package anthill.leaks;

import java.net.URL;
import java.net.URLClassLoader;

/**
 * Loads an application's own classes again, from the same place, as servers and plug-in systems do
 * that reload what was changed; everything else comes from the parent.
 */
final class ChildFirstLoader extends URLClassLoader {
    private final String[] own;

    ChildFirstLoader(String... own) {
        super(new URL[] {Leak.class.getProtectionDomain().getCodeSource().getLocation()}, Leak.class.getClassLoader());
        this.own = own;
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        synchronized (getClassLoadingLock(name)) {
            for (String prefix : own) {
                if (name.startsWith(prefix)) {
                    Class<?> loaded = findLoadedClass(name);
                    return loaded == null ? findClass(name) : loaded;
                }
            }
            return super.loadClass(name, resolve);
        }
    }
}
