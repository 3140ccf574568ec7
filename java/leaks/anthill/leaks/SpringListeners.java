package anthill.leaks;

import java.util.ArrayList;
import java.util.List;
import org.springframework.context.ApplicationEvent;
import org.springframework.context.ApplicationListener;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** Each request that waits for a payment adds a listener to the running Spring context and never removes it. */
final class SpringListeners {
    private SpringListeners() {}

    public static void main(String[] args) throws Exception {
        QuietLog.setUp();
        ConfigurableApplicationContext context = new AnnotationConfigApplicationContext(PaymentConfiguration.class);
        PaymentEndpoint endpoint = context.getBean(PaymentEndpoint.class);
        Leak.of("every request adds an ApplicationListener to the running context and does not remove it")
                .culprit("org.springframework.context.support.AbstractApplicationContext.applicationListeners")
                .also(
                        "org.springframework.context.event.AbstractApplicationEventMulticaster"
                                + "$DefaultListenerRetriever.applicationListeners",
                        "org.springframework.context.event.AbstractApplicationEventMulticaster.defaultRetriever",
                        "anthill.leaks.PaymentEndpoint.context")
                .element(PaymentListener.class)
                .run(args, endpoint::pay);
    }
}

@Configuration(proxyBeanMethods = false)
class PaymentConfiguration {
    @Bean
    PaymentEndpoint paymentEndpoint(ConfigurableApplicationContext context) {
        return new PaymentEndpoint(context);
    }
}

class PaymentEndpoint {
    private final ConfigurableApplicationContext context;

    PaymentEndpoint(ConfigurableApplicationContext context) {
        this.context = context;
    }

    void pay(int payment) {
        context.addApplicationListener(new PaymentListener(payment));
        if (payment % 500 == 0) {
            context.publishEvent(new PaymentReceived(this, payment));
        }
    }
}

class PaymentReceived extends ApplicationEvent {
    private static final long serialVersionUID = 1;

    final int payment;

    PaymentReceived(Object source, int payment) {
        super(source);
        this.payment = payment;
    }
}

class PaymentListener implements ApplicationListener<PaymentReceived> {
    private final int payment;
    private final List<String> positions = new ArrayList<>();
    private boolean received;

    PaymentListener(int payment) {
        this.payment = payment;
        for (int i = 0; i < 6; i++) {
            positions.add(Words.text(payment, 150));
        }
    }

    @Override
    public void onApplicationEvent(PaymentReceived event) {
        received |= event.payment == payment;
    }
}
