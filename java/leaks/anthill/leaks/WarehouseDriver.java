package anthill.leaks;

import java.sql.Connection;
import java.sql.Driver;
import java.sql.DriverManager;
import java.sql.DriverPropertyInfo;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Properties;
import java.util.logging.Logger;

/** The driver of {@link DriverLoader}, which nobody but a {@link ChildFirstLoader} loads. */
public final class WarehouseDriver implements Driver {
    private static final Map<Integer, String> ERROR_MESSAGES = new LinkedHashMap<>();

    static {
        for (int i = 0; i < 700; i++) {
            ERROR_MESSAGES.put(i, "WH-" + i + ": " + Words.text(i, 150));
        }
        try {
            DriverManager.registerDriver(new WarehouseDriver());
        } catch (SQLException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    @Override
    public Connection connect(String url, Properties properties) throws SQLException {
        if (!acceptsURL(url)) {
            return null;
        }
        throw new SQLException(ERROR_MESSAGES.get(0));
    }

    @Override
    public boolean acceptsURL(String url) {
        return url.startsWith("jdbc:warehouse:");
    }

    @Override
    public DriverPropertyInfo[] getPropertyInfo(String url, Properties properties) {
        return new DriverPropertyInfo[0];
    }

    @Override
    public int getMajorVersion() {
        return 1;
    }

    @Override
    public int getMinorVersion() {
        return 0;
    }

    @Override
    public boolean jdbcCompliant() {
        return false;
    }

    @Override
    public Logger getParentLogger() throws SQLFeatureNotSupportedException {
        throw new SQLFeatureNotSupportedException("no logger");
    }
}
