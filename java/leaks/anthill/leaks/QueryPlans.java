package anthill.leaks;

import java.util.logging.Level;
import java.util.logging.Logger;
import javax.persistence.Entity;
import javax.persistence.Id;
import org.hibernate.Session;
import org.hibernate.SessionFactory;
import org.hibernate.cfg.Configuration;

/**
 * Each search for invoices writes the numbers it looks for into the text of the query. Hibernate keeps a
 * plan for every text, in a cache that has been made large.
 */
final class QueryPlans {
    private static final Logger HIBERNATE = Logger.getLogger("org.hibernate");
    private static final int SEARCHES = 400;
    private static final int MOST_NUMBERS = 40;

    private QueryPlans() {}

    public static void main(String[] args) throws Exception {
        HIBERNATE.setLevel(Level.OFF);
        InvoiceArchive archive = new InvoiceArchive();
        Leak.of("each search has its numbers in the text of the query, and Hibernate keeps a plan for each text")
                .culprit("org.hibernate.engine.query.spi.QueryPlanCache.queryPlanCache")
                .also("org.hibernate.internal.SessionFactoryImpl.queryPlanCache", "anthill.leaks.InvoiceArchive.sessions")
                .element("org.hibernate.engine.query.spi.HQLQueryPlan")
                .items(SEARCHES)
                .run(args, number -> archive.search(number, 1 + number % MOST_NUMBERS));
    }
}

final class InvoiceArchive {
    private final SessionFactory sessions = new Configuration()
            .addAnnotatedClass(Invoice.class)
            .setProperty("hibernate.connection.driver_class", "org.h2.Driver")
            .setProperty("hibernate.connection.url", "jdbc:h2:mem:invoices")
            .setProperty("hibernate.dialect", "org.hibernate.dialect.H2Dialect")
            .setProperty("hibernate.hbm2ddl.auto", "create")
            .setProperty("hibernate.query.plan_cache_max_size", "1000000")
            .buildSessionFactory();

    int search(int number, int numbers) {
        StringBuilder query = new StringBuilder("from Invoice where id in (");
        for (int i = 0; i < numbers; i++) {
            query.append(i == 0 ? "" : ", ").append(number * 1_000L + i);
        }
        try (Session session = sessions.openSession()) {
            return session.createQuery(query.append(')').toString()).list().size();
        }
    }
}

@Entity(name = "Invoice")
class Invoice {
    @Id
    private long id;

    private String recipient;
}
