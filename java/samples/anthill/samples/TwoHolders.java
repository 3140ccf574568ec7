package anthill.samples;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A database that an open connection refers to, and the table of all databases as well: it lives on when only one of them
 * lets go of it.
 */
final class TwoHolders {
    static final Map<String, Database> DATABASES = new HashMap<>();
    static Connection connection;

    private TwoHolders() {}

    static final class Database {
        final String name;
        final List<Row> rows = new ArrayList<>();

        Database(String name) {
            this.name = name;
        }
    }

    static final class Row {
        final byte[] cells = new byte[300];
    }

    static final class Connection {
        final Database database;

        Connection(Database database) {
            this.database = database;
        }
    }

    public static void main(String[] args) throws IOException {
        Database database = new Database("orders");
        for (int i = 0; i < 20_000; i++) {
            database.rows.add(new Row());
        }
        connection = new Connection(database);
        DATABASES.put(database.name, database);
        Console.truth("rows", database.rows.size());
        database = null;
        Console.readyUntilClosed();
    }
}
