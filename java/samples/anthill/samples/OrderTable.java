package anthill.samples;

import java.io.IOException;
import java.util.Map;
import java.util.TreeMap;

/**
 * Orders that outlive their delivery, in the two ways that Aftandilian and Guyer (2009), section
 * 3.2.1, found: the table never forgets a delivered order, or the customer who placed it does not.
 *
 * <p>Every customer places the same number of orders; all but the last one of each are delivered.
 *
 * <p>Arguments: number of customers (default 1,000), orders of each (default 10), and who leaks:
 * {@code table} (default), {@code customer} or {@code none}. A leaking customer's latest order is
 * delivered too, so that only {@code lastOrder} holds it.
 */
final class OrderTable {
    static District district;

    private OrderTable() {}

    static final class Order {
        final long number;
        final Customer customer;
        boolean delivered;

        Order(long number, Customer customer) {
            this.number = number;
            this.customer = customer;
        }
    }

    static final class Customer {
        final String name;
        Order lastOrder;

        Customer(String name) {
            this.name = name;
        }
    }

    static final class District {
        /** Above the range in which {@code Long.valueOf} hands out shared boxes. */
        private static final long FIRST_NUMBER = 1_000;

        private final Customer[] customers;
        private final Map<Long, Order> orderTable = new TreeMap<>();
        private long nextNumber = FIRST_NUMBER;

        District(int customers) {
            this.customers = new Customer[customers];
            for (int i = 0; i < customers; i++) {
                this.customers[i] = new Customer("customer " + i);
            }
        }

        Order place(Customer customer) {
            Order order = new Order(nextNumber++, customer);
            orderTable.put(order.number, order);
            customer.lastOrder = order;
            return order;
        }
    }

    public static void main(String[] args) throws IOException {
        int customers = Console.argument(args, 0, 1_000);
        int ordersOfEach = Console.argument(args, 1, 10);
        String leak = args.length > 2 ? args[2] : "table";

        district = new District(customers);
        trade(ordersOfEach, leak);

        int placed = customers * ordersOfEach;
        boolean customerLeaks = leak.equals("customer");
        int open = customerLeaks ? 0 : customers;
        int inTable = leak.equals("table") ? placed : open;
        Console.truth("customers", customers);
        Console.truth("orders placed", placed);
        Console.truth("orders delivered", placed - open);
        Console.truth("orders in the table", inTable);
        Console.truth("orders kept by a customer only", customerLeaks ? customers : 0);
        Console.truth("orders alive", customerLeaks ? customers : inTable);
        Console.readyUntilClosed();
    }

    private static void trade(int ordersOfEach, String leak) {
        for (Customer customer : district.customers) {
            for (int i = 0; i < ordersOfEach; i++) {
                Order order = district.place(customer);
                boolean last = i == ordersOfEach - 1;
                if (!last || leak.equals("customer")) {
                    deliver(order, leak);
                }
            }
        }
    }

    private static void deliver(Order order, String leak) {
        order.delivered = true;
        if (!leak.equals("table")) {
            district.orderTable.remove(order.number);
        }
        if (leak.equals("none")) {
            order.customer.lastOrder = null;
        }
    }
}
