package anthill.samples;

import dev.anthill.GcAssertions;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.Serializable;

/**
 * A singleton that is not one: reading it from a stream makes a second. The example of Aftandilian and Guyer (2009), section
 * 2.4.1.
 *
 * <p>Argument: {@code fixed} reads the only one.
 */
final class AssertedSingleton {
    /** Somebody who was sent the settings over a wire. */
    static Settings received;

    static boolean fixed;

    private AssertedSingleton() {}

    static final class Settings implements Serializable {
        private static final long serialVersionUID = 1;

        static final Settings ONLY = new Settings();

        private Settings() {}

        private Object readResolve() {
            return fixed ? ONLY : this;
        }
    }

    public static void main(String[] args) throws IOException, ClassNotFoundException {
        fixed = Asserted.isFixed(args, 0);
        GcAssertions.assertInstances(Settings.class, 1, "settings are a singleton");
        received = copied(Settings.ONLY);
        Console.truth("instances", fixed ? 1 : 2);
        Asserted.checkAndWait();
    }

    private static Settings copied(Settings settings) throws IOException, ClassNotFoundException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
            out.writeObject(settings);
        }
        try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
            return (Settings) in.readObject();
        }
    }
}
