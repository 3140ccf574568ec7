package anthill.workloads;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/** Orders of customers in an in-memory database that is kept over all rounds. */
final class Database extends Workload {
    private static final int CUSTOMERS = 2_000;
    private static final int ORDERS = 60_000;
    private final Connection connection;

    private Database() throws SQLException {
        connection = DriverManager.getConnection("jdbc:h2:mem:orders");
        try (Statement statement = connection.createStatement()) {
            statement.execute("create table customer(id int primary key, name varchar(40))");
            statement.execute("create table orders(id int primary key, round int, customer int, amount int)");
            statement.execute("create index by_customer on orders(customer)");
            statement.execute("create index by_round on orders(round)");
        }
        try (PreparedStatement insert = connection.prepareStatement("insert into customer values(?, ?)")) {
            for (int id = 0; id < CUSTOMERS; id++) {
                insert.setInt(1, id);
                insert.setString(2, "customer number " + id);
                insert.addBatch();
            }
            insert.executeBatch();
        }
    }

    @Override
    void round(int number) throws SQLException {
        long sum = 0;
        try (PreparedStatement insert = connection.prepareStatement("insert into orders values(?, ?, ?, ?)")) {
            for (int order = 0; order < ORDERS; order++) {
                int amount = (order * 31 + number) % 1_000;
                insert.setInt(1, number * ORDERS + order);
                insert.setInt(2, number);
                insert.setInt(3, order % CUSTOMERS);
                insert.setInt(4, amount);
                insert.addBatch();
                sum += amount;
                if (order % 1_000 == 999) {
                    insert.executeBatch();
                }
            }
        }
        check("sum", sum, ask("select sum(amount) from orders where round = " + number));
        long joined = ask("select count(*) from orders o join customer c on o.customer = c.id"
                + " where o.round = " + number + " and c.name like 'customer number 1%'");
        long named = 0;
        for (int id = 0; id < CUSTOMERS; id++) {
            named += Integer.toString(id).startsWith("1") ? ORDERS / CUSTOMERS : 0;
        }
        check("joined", named, joined);
        if (number >= 4) {
            try (Statement statement = connection.createStatement()) {
                check("deleted", ORDERS, statement.executeUpdate("delete from orders where round = " + (number - 4)));
            }
        }
    }

    private long ask(String query) throws SQLException {
        try (Statement statement = connection.createStatement(); ResultSet result = statement.executeQuery(query)) {
            result.next();
            return result.getLong(1);
        }
    }

    public static void main(String[] arguments) throws Exception {
        new Database().run();
    }
}
