package anthill.leaks;

import io.vertx.core.Vertx;
import io.vertx.core.eventbus.Message;
import io.vertx.core.eventbus.MessageConsumer;
import java.util.ArrayDeque;
import java.util.Deque;

/** Each web socket has a consumer on Vert.x's event bus, which is not unregistered when the socket closes. */
final class VertxConsumers {
    private VertxConsumers() {}

    public static void main(String[] args) throws Exception {
        QuietLog.setUp();
        Leak.of("consumers of closed web sockets are never unregistered from Vert.x's event bus")
                .culprit("io.vertx.core.eventbus.impl.EventBusImpl.handlerMap")
                .also("anthill.leaks.ChatServer.vertx", "io.vertx.core.impl.VertxImpl.eventBus")
                .element(ChatSocket.class)
                .run(args, number -> {
                    ChatSocket socket = new ChatSocket(Words.name(number));
                    ChatServer.open(socket, number);
                    socket.close();
                });
    }
}

final class ChatServer {
    private static final Vertx vertx = Vertx.vertx();

    private ChatServer() {}

    static void open(ChatSocket socket, int number) {
        MessageConsumer<String> consumer = vertx.eventBus().localConsumer("chat.user." + number);
        consumer.handler(socket::receive);
    }
}

final class ChatSocket {
    private final String user;
    private final Deque<String> unread = new ArrayDeque<>();
    private boolean open = true;

    ChatSocket(String user) {
        this.user = user;
        for (int i = 0; i < 8; i++) {
            unread.add(Words.text(user.length() + i, 120));
        }
    }

    void receive(Message<String> message) {
        if (open) {
            unread.add(user + ": " + message.body());
        }
    }

    /** Should unregister the consumer. */
    void close() {
        open = false;
    }
}
