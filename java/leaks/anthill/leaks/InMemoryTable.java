package anthill.leaks;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;

/**
 * An audit log in an H2 database that lives in memory until the JVM ends (DB_CLOSE_DELAY=-1); no one
 * deletes old rows. The application closes each connection.
 */
final class InMemoryTable {
    private InMemoryTable() {}

    public static void main(String[] args) throws Exception {
        AuditLog log = new AuditLog("jdbc:h2:mem:audit;DB_CLOSE_DELAY=-1");
        log.createTable();
        Leak.of("rows of the table AUDIT in H2's in-memory database are never deleted")
                .culprit("org.h2.mvstore.MVMap.root")
                .also(
                        "org.h2.engine.Engine.DATABASES",
                        "org.h2.mvstore.db.MVPrimaryIndex.dataMap",
                        "org.h2.mvstore.tx.TransactionMap.map",
                        "org.h2.mvstore.MVStore.maps")
                .element("org.h2.value.ValueUuid")
                .named("AUDIT")
                .items(3_000)
                .run(args, log::write);
    }
}

final class AuditLog {
    private final String url;

    AuditLog(String url) {
        this.url = url;
    }

    void createTable() throws SQLException {
        try (Connection connection = DriverManager.getConnection(url, "sa", "");
                Statement statement = connection.createStatement()) {
            statement.execute("create table audit (id bigint generated always as identity, request uuid, "
                    + "actor varchar(100), action varchar(100), detail varchar(1000))");
        }
    }

    void write(int number) throws SQLException {
        try (Connection connection = DriverManager.getConnection(url, "sa", "");
                PreparedStatement insert = connection.prepareStatement(
                        "insert into audit (request, actor, action, detail) values (?, ?, ?, ?)")) {
            insert.setObject(1, new java.util.UUID(number, ~number));
            insert.setString(2, Words.name(number));
            insert.setString(3, "UPDATE /customers/" + number);
            insert.setString(4, Words.text(number, 900));
            insert.executeUpdate();
        }
    }
}
