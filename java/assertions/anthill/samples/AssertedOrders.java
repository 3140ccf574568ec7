package anthill.samples;

import dev.anthill.GcAssertions;
import java.io.IOException;
import java.util.Map;
import java.util.TreeMap;

/**
 * The order processing of Aftandilian and Guyer (2009), section 3.2.1, with their assertions. Customers place orders, orders are
 * delivered, and after each round the company is replaced by a new one.
 *
 * <p>Arguments: what is wrong, and {@code fixed} for the repaired program.
 *
 * <ul>
 *   <li>{@code customer}: a destroyed order is still its customer's last one; asserted dead in {@code destroy}
 *   <li>{@code table}: delivered orders are never removed from the table; asserted dead after delivery
 *   <li>{@code owned}: an order that was removed from the table is still its customer's last one; asserted to be owned by
 *       the table
 *   <li>{@code company}: the old company stays in a local variable of the main loop; asserted dead in {@code destroy}
 * </ul>
 */
final class AssertedOrders {
    private static final int CUSTOMERS = 20;
    private static final int ORDERS_OF_EACH = 5;

    static Company company;

    private final String wrong;
    private final boolean fixed;

    private AssertedOrders(String wrong, boolean fixed) {
        this.wrong = wrong;
        this.fixed = fixed;
    }

    static final class Order {
        final long number;
        final Customer customer;

        Order(long number, Customer customer) {
            this.number = number;
            this.customer = customer;
        }
    }

    static final class Customer {
        Order lastOrder;
    }

    static final class District {
        final Customer[] customers = new Customer[CUSTOMERS];
        final Map<Long, Order> orderTable = new TreeMap<>();
        private long nextNumber = 1_000;

        District() {
            for (int i = 0; i < customers.length; i++) {
                customers[i] = new Customer();
            }
        }

        Order place(Customer customer) {
            Order order = new Order(nextNumber++, customer);
            orderTable.put(order.number, order);
            customer.lastOrder = order;
            return order;
        }
    }

    static final class Company {
        final District district = new District();
    }

    public static void main(String[] args) throws IOException {
        new AssertedOrders(args[0], Asserted.isFixed(args, 1)).run();
    }

    private void run() throws IOException {
        if (wrong.equals("company")) {
            replaceCompany();
            return;
        }
        company = new Company();
        trade(company.district);
        int kept = wrong.equals("table") ? CUSTOMERS * ORDERS_OF_EACH : CUSTOMERS;
        Console.truth("kept", fixed ? 0 : kept);
        Asserted.checkAndWait();
    }

    private void trade(District district) {
        for (Customer customer : district.customers) {
            for (int i = 0; i < ORDERS_OF_EACH; i++) {
                Order order = district.place(customer);
                if (wrong.equals("owned")) {
                    GcAssertions.assertOwnedBy(district.orderTable, order, "an order lives in its table");
                }
                deliver(district, order);
            }
        }
    }

    private void deliver(District district, Order order) {
        if (fixed || !wrong.equals("table")) {
            district.orderTable.remove(order.number);
        }
        if (fixed || wrong.equals("table")) {
            order.customer.lastOrder = null;
        }
        if (!wrong.equals("owned")) {
            GcAssertions.assertDead(order, "a delivered order is gone");
        }
    }

    /** The main loop: a new company in each round, after the old one was destroyed. */
    private void replaceCompany() throws IOException {
        company = new Company();
        Company oldCompany = company;
        trade(oldCompany.district);
        destroy(oldCompany);
        if (fixed) {
            oldCompany = null;
        }
        company = new Company();
        Console.truth("kept", fixed ? 0 : 1);
        Asserted.checkAndWait();
        // The variable is the program's as long as this method runs.
        Console.truth("old company", oldCompany);
    }

    private static void destroy(Company old) {
        company = null;
        for (Customer customer : old.district.customers) {
            customer.lastOrder = null;
        }
        GcAssertions.assertDead(old, "a destroyed company is gone");
    }
}
