package anthill.leaks;

import java.io.IOException;
import java.io.ObjectOutputStream;
import java.io.OutputStream;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;

/**
 * Measurements are sent over one ObjectOutputStream for as long as the connection lives. It remembers
 * every object that it wrote until somebody calls reset.
 */
final class ObjectStreamHandles {
    private ObjectStreamHandles() {}

    public static void main(String[] args) throws Exception {
        MeasurementSender sender = new MeasurementSender(OutputStream.nullOutputStream());
        Leak.of("an ObjectOutputStream that is never reset remembers every object it wrote")
                .culprit("java.io.ObjectOutputStream.handles")
                .also("anthill.leaks.MeasurementSender.out", "java.io.ObjectOutputStream$HandleTable.objs")
                .element(Measurement.class)
                .run(args, number -> sender.send(new Measurement(number)));
    }
}

final class MeasurementSender {
    private final ObjectOutputStream out;

    MeasurementSender(OutputStream connection) throws IOException {
        out = new ObjectOutputStream(connection);
    }

    void send(Measurement measurement) throws IOException {
        out.writeObject(measurement);
        out.flush();
    }
}

final class Measurement implements Serializable {
    private static final long serialVersionUID = 1;

    private final String sensor;
    private final List<String> notes = new ArrayList<>();
    private final double[] values = new double[60];

    Measurement(int number) {
        sensor = Words.city(number) + " " + number;
        notes.add(Words.text(number, 150));
        values[number % values.length] = number;
    }
}
