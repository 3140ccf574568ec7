package anthill.leaks;

import com.google.common.eventbus.EventBus;
import com.google.common.eventbus.Subscribe;
import java.util.ArrayList;
import java.util.List;

/** Each screen registers itself with Guava's event bus when it opens, and none unregisters when it closes. */
final class EventBusSubscribers {
    private EventBusSubscribers() {}

    public static void main(String[] args) throws Exception {
        Leak.of("closed order screens are still registered with the desktop's event bus")
                .culprit("com.google.common.eventbus.SubscriberRegistry.subscribers")
                .also(
                        "anthill.leaks.Desktop.EVENTS",
                        "com.google.common.eventbus.EventBus.subscribers",
                        "com.google.common.eventbus.Subscriber.target")
                .element(OrderScreen.class)
                .run(args, number -> {
                    OrderScreen screen = new OrderScreen(number);
                    screen.open();
                    screen.close();
                });
    }
}

final class Desktop {
    static final EventBus EVENTS = new EventBus("desktop");

    private Desktop() {}
}

final class OrderChanged {
    final int order;

    OrderChanged(int order) {
        this.order = order;
    }
}

final class OrderScreen {
    private final int order;
    private final List<String> lines = new ArrayList<>();
    private boolean visible;

    OrderScreen(int order) {
        this.order = order;
    }

    void open() {
        visible = true;
        for (int i = 0; i < 10; i++) {
            lines.add(i + " x " + Words.text(order, 100));
        }
        Desktop.EVENTS.register(this);
    }

    /** Somebody forgot to unregister. */
    void close() {
        visible = false;
    }

    @Subscribe
    public void refresh(OrderChanged event) {
        if (visible && event.order == order) {
            lines.clear();
        }
    }
}
