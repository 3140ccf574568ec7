import java.math.BigDecimal;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.StringJoiner;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A program to be recorded that allocates in many places. It reads orders from lines, keeps them by customer, and renders
 * invoices, of which it keeps every fourth in a cache that nothing ever clears.
 *
 * <p>Arguments: how many rounds, and how long each takes at least, in milliseconds.
 */
final class Orders {
    private static final Pattern LINE = Pattern.compile("(\\d+);(\\w+);([\\d.]+);(\\d{4}-\\d\\d-\\d\\d)");
    private static final Map<String, List<Order>> BY_CUSTOMER = new HashMap<>();
    private static final Map<Integer, String> INVOICES = new HashMap<>();

    static final class Order {
        final int number;
        final String customer;
        final BigDecimal amount;
        final LocalDate date;

        Order(Matcher line) {
            number = Integer.parseInt(line.group(1));
            customer = line.group(2);
            amount = new BigDecimal(line.group(3));
            date = LocalDate.parse(line.group(4));
        }
    }

    public static void main(String[] arguments) throws Exception {
        System.out.println("READY");
        int rounds = Integer.parseInt(arguments[0]);
        long pause = Long.parseLong(arguments[1]);
        for (int round = 0; round < rounds; round++) {
            long until = System.nanoTime() + pause * 1_000_000;
            importOrders(round);
            renderInvoices(round);
            Thread.sleep(Math.max(1, (until - System.nanoTime()) / 1_000_000));
        }
    }

    private static void importOrders(int round) {
        for (String line : readLines(round)) {
            Matcher matcher = LINE.matcher(line);
            if (matcher.matches()) {
                Order order = new Order(matcher);
                BY_CUSTOMER.computeIfAbsent(order.customer, name -> new ArrayList<>()).add(order);
            }
        }
    }

    private static List<String> readLines(int round) {
        List<String> lines = new ArrayList<>();
        for (int i = 0; i < 20_000; i++) {
            int number = round * 20_000 + i;
            lines.add(number + ";customer" + number % 997 + ";" + number % 1000 + ".95;2026-0" + (1 + i % 9) + "-1" + i % 10);
        }
        return lines;
    }

    private static void renderInvoices(int round) {
        for (List<Order> orders : BY_CUSTOMER.values()) {
            Order last = orders.get(orders.size() - 1);
            String invoice = render(last, orders);
            if (last.number % 4 == 0) INVOICES.put(last.number, invoice);
        }
    }

    private static String render(Order order, List<Order> before) {
        StringJoiner text = new StringJoiner("\n");
        text.add("Invoice for " + order.customer + ", " + order.date.plusDays(30));
        for (Order one : before.subList(Math.max(0, before.size() - 40), before.size())) {
            text.add(String.format("%8d  %s", one.number, one.amount.toPlainString()));
        }
        return text.toString();
    }
}
