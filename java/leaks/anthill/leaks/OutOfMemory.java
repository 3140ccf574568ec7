package anthill.leaks;

import java.util.HashMap;
import java.util.Map;

/**
 * Orders that are filled are never taken out of the order book, until the heap is full. The program
 * ends by itself; run it with a heap of 48 MB and {@code -XX:+HeapDumpOnOutOfMemoryError}.
 */
final class OutOfMemory {
    private OutOfMemory() {}

    public static void main(String[] args) throws Exception {
        OrderImport work = new OrderImport();
        Thread thread = new Thread(work, "order-import");
        thread.start();
        thread.join();
        Leak.truth("leak", "filled orders are never removed from the order book");
        Leak.truth("culprit", "anthill.leaks.OrderBook.ORDERS");
        Leak.truth("also", "thread order-import");
        Leak.truth("element", LimitOrder.class.getName());
        Leak.truth("elements", work.orders);
        Leak.truth("exact", true);
        Leak.truth("thrown in", work.thrownIn);
        Leak.truth("bytes", 220L * work.orders);
        System.exit(3);
    }
}

final class OrderBook {
    static final Map<Long, LimitOrder> ORDERS = new HashMap<>();

    private OrderBook() {}

    static void add(LimitOrder order) {
        ORDERS.put(order.id, order);
    }
}

final class OrderImport implements Runnable {
    int orders;
    String thrownIn;

    @Override
    public void run() {
        try {
            while (true) {
                OrderBook.add(new LimitOrder(orders));
                orders++;
            }
        } catch (OutOfMemoryError e) {
            // The dump is written; what follows needs memory again.
            orders = OrderBook.ORDERS.size();
            OrderBook.ORDERS.clear();
            StackTraceElement top = e.getStackTrace()[0];
            thrownIn = top.getClassName() + "." + top.getMethodName();
        }
    }
}

final class LimitOrder {
    final Long id;
    final String account;
    final String symbol;
    final double price;
    final long received;
    final int quantity;

    LimitOrder(int number) {
        id = (long) number;
        account = Words.mail(number);
        symbol = "SYM" + number % 5_000;
        price = 10 + number % 100 * 0.25;
        received = 1_700_000_000_000L + number;
        quantity = 100 * (1 + number % 9);
    }
}
