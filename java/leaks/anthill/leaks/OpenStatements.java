package anthill.leaks;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import javax.sql.DataSource;

/**
 * An importer keeps one connection of a HikariCP pool for the whole night. It prepares a statement for
 * each line and closes neither it nor its result.
 */
final class OpenStatements {
    private OpenStatements() {}

    public static void main(String[] args) throws Exception {
        QuietLog.setUp();
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl("jdbc:h2:mem:products");
        config.setMaximumPoolSize(4);
        config.setMinimumIdle(1);
        try (HikariDataSource source = new HikariDataSource(config)) {
            NightlyImport nightlyImport = new NightlyImport(source);
            Leak.of("the importer's connection keeps every statement, since none is closed")
                    .culprit("com.zaxxer.hikari.pool.ProxyConnection.openStatements")
                    .also("anthill.leaks.NightlyImport.connection")
                    .element("org.h2.jdbc.JdbcPreparedStatement")
                    .run(args, nightlyImport::importLine);
        }
    }
}

final class NightlyImport {
    private static final int CATEGORIES = 10;

    private final Connection connection;

    NightlyImport(DataSource source) throws SQLException {
        connection = source.getConnection();
        try (Statement statement = connection.createStatement()) {
            statement.execute("create table product (id int primary key, category int, name varchar(200))");
            for (int i = 0; i < 50; i++) {
                statement.execute("insert into product values (" + i + ", " + i % CATEGORIES + ", '"
                        + Words.text(i, 100) + "')");
            }
        }
    }

    int importLine(int line) throws SQLException {
        PreparedStatement find = connection.prepareStatement("select id, name from product where category = ?");
        find.setInt(1, line % CATEGORIES);
        ResultSet found = find.executeQuery();
        return found.next() ? found.getInt("id") : -1;
    }
}
