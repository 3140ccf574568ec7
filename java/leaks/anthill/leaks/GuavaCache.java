package anthill.leaks;

import com.google.common.cache.Cache;
import com.google.common.cache.CacheBuilder;
import java.math.BigDecimal;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ExecutionException;

/**
 * Quotes are cached by customer, product and day in a Guava cache without a maximum size or expiry, so
 * that hardly any key comes twice.
 */
final class GuavaCache {
    private GuavaCache() {}

    public static void main(String[] args) throws Exception {
        Leak.of("PriceService caches every quote in a Guava cache without a maximum size or expiry")
                .culprit("anthill.leaks.PriceService.quotes")
                .also("anthill.leaks.PriceService.INSTANCE", "com.google.common.cache.LocalCache.segments")
                .element(Quote.class)
                .run(args, number -> PriceService.INSTANCE.quote(Words.mail(number), 1_000 + number % 50));
    }
}

final class PriceService {
    static final PriceService INSTANCE = new PriceService();

    private final Cache<QuoteKey, Quote> quotes = CacheBuilder.newBuilder().recordStats().build();

    BigDecimal quote(String customer, int product) throws ExecutionException {
        QuoteKey key = new QuoteKey(customer, product, LocalDate.of(2024, 3, 1));
        return quotes.get(key, () -> calculate(key)).total;
    }

    private static Quote calculate(QuoteKey key) {
        Quote quote = new Quote("EUR");
        for (int i = 0; i < 6; i++) {
            BigDecimal amount = new BigDecimal(key.product * 100 + i).movePointLeft(2);
            quote.add(new Discount("rule " + i + " for " + key.customer, amount));
        }
        return quote;
    }
}

final class QuoteKey {
    final String customer;
    final int product;
    final LocalDate day;

    QuoteKey(String customer, int product, LocalDate day) {
        this.customer = customer;
        this.product = product;
        this.day = day;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof QuoteKey
                && ((QuoteKey) other).customer.equals(customer)
                && ((QuoteKey) other).product == product
                && ((QuoteKey) other).day.equals(day);
    }

    @Override
    public int hashCode() {
        return Objects.hash(customer, product, day);
    }
}

final class Quote {
    final String currency;
    final List<Discount> discounts = new ArrayList<>();
    BigDecimal total = BigDecimal.ZERO;

    Quote(String currency) {
        this.currency = currency;
    }

    void add(Discount discount) {
        discounts.add(discount);
        total = total.add(discount.amount);
    }
}

final class Discount {
    final String rule;
    final BigDecimal amount;

    Discount(String rule, BigDecimal amount) {
        this.rule = rule;
        this.amount = amount;
    }
}
