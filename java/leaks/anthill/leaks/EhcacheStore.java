package anthill.leaks;

import java.util.ArrayList;
import java.util.List;
import org.ehcache.Cache;
import org.ehcache.CacheManager;
import org.ehcache.config.builders.CacheConfigurationBuilder;
import org.ehcache.config.builders.CacheManagerBuilder;
import org.ehcache.config.builders.ResourcePoolsBuilder;

/**
 * Tickets are cached by Ehcache, by their number and the language of the reader. The heap tier takes a
 * million entries, and they do not expire.
 */
final class EhcacheStore {
    private EhcacheStore() {}

    public static void main(String[] args) throws Exception {
        QuietLog.setUp();
        TicketService service = new TicketService();
        Leak.of("tickets are cached by Ehcache with a heap tier that has room for a million and no expiry")
                .culprit("anthill.leaks.TicketService.tickets")
                .also(
                        "anthill.leaks.TicketService.caches",
                        "org.ehcache.impl.internal.store.heap.OnHeapStore.map",
                        "org.ehcache.impl.internal.store.heap.SimpleBackend.realMap")
                .element(Ticket.class)
                .run(args, service::read);
    }
}

final class TicketService {
    private static final long ENTRIES = 1_000_000;

    private final CacheManager caches = CacheManagerBuilder.newCacheManagerBuilder()
            .withCache(
                    "tickets",
                    CacheConfigurationBuilder.newCacheConfigurationBuilder(
                            String.class, Ticket.class, ResourcePoolsBuilder.heap(ENTRIES)))
            .build(true);
    private final Cache<String, Ticket> tickets = caches.getCache("tickets", String.class, Ticket.class);

    Ticket read(int number) {
        String key = number + "/" + Words.city(number);
        Ticket ticket = tickets.get(key);
        if (ticket == null) {
            ticket = new Ticket(number);
            tickets.put(key, ticket);
        }
        return ticket;
    }
}

final class Ticket {
    final int number;
    final String reporter;
    final List<String> comments = new ArrayList<>();

    Ticket(int number) {
        this.number = number;
        reporter = Words.mail(number);
        for (int i = 0; i < 6; i++) {
            comments.add(Words.name(i) + ": " + Words.text(number, 150));
        }
    }
}
