package anthill.leaks;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.apache.pekko.actor.AbstractActor;
import org.apache.pekko.actor.ActorRef;
import org.apache.pekko.actor.ActorSystem;
import org.apache.pekko.actor.Props;

/** A Pekko actor that starts a child for each cart; a child whose cart was paid never stops itself. */
final class ActorChildren {
    private ActorChildren() {}

    public static void main(String[] args) throws Exception {
        Config config = ConfigFactory.parseString("pekko.loglevel = ERROR").withFallback(ConfigFactory.load());
        ActorSystem system = ActorSystem.create("shop", config);
        ActorRef carts = system.actorOf(Props.create(CartManager.class, CartManager::new), "carts");
        Leak.of("the cart manager starts an actor for each cart and stops none")
                .culprit("org.apache.pekko.actor.dungeon.ChildrenContainer$NormalChildrenContainer.c")
                .also("org.apache.pekko.actor.ActorCell"
                        + ".org$apache$pekko$actor$dungeon$Children$$_childrenRefsDoNotCallMeDirectly")
                .element(CartActor.class)
                .run(args, number -> {
                    CountDownLatch paid = new CountDownLatch(1);
                    carts.tell(new PayCart(number, paid), ActorRef.noSender());
                    paid.await();
                });
    }
}

final class PayCart {
    final int cart;
    final CountDownLatch paid;

    PayCart(int cart, CountDownLatch paid) {
        this.cart = cart;
        this.paid = paid;
    }
}

final class CartManager extends AbstractActor {
    @Override
    public Receive createReceive() {
        return receiveBuilder()
                .match(PayCart.class, message -> getContext()
                        .actorOf(Props.create(CartActor.class, CartActor::new), "cart-" + message.cart)
                        .forward(message, getContext()))
                .build();
    }
}

final class CartActor extends AbstractActor {
    private final List<String> products = new ArrayList<>();
    private boolean paid;

    @Override
    public Receive createReceive() {
        return receiveBuilder().match(PayCart.class, this::pay).build();
    }

    private void pay(PayCart message) {
        for (int i = 0; i < 5; i++) {
            products.add(i + " x " + Words.text(message.cart, 80));
        }
        paid = true;
        message.paid.countDown();
    }

    boolean isPaid() {
        return paid;
    }
}
