package shop;

import dev.anthill.GcAssertions;
import dev.anthill.junit.HeapAssertions;
import dev.anthill.junit.LeakCheck;
import org.junit.jupiter.api.Test;

/** Each of these must fail, and its message must say who holds what. */
@LeakCheck
class FailingTest {
    private static final Store AUDITED = new Store(true);
    private static Session shared;
    private static Entry log;

    private static final class Entry {
        final Entry before;

        Entry(Entry before) {
            this.before = before;
        }
    }

    @Test
    void aClosedSessionIsInTheAudit(HeapAssertions heap) {
        Session session = AUDITED.open("anna");
        AUDITED.close(session);
        heap.assertDead(session, "a closed session");
    }

    @Test
    void whatTheProgramAssertedIsInTheAudit() {
        Session session = AUDITED.open("bea");
        AUDITED.close(session);
        GcAssertions.assertDead(session, "asserted by the program");
    }

    @Test
    @LeakCheck(types = Session.class)
    void aSessionSurvives() {
        AUDITED.close(AUDITED.open("cleo"));
    }

    @Test
    @LeakCheck(region = true)
    void somethingSurvives() {
        AUDITED.close(AUDITED.open("dora"));
    }

    @Test
    void aRegionLeavesASession(HeapAssertions heap) {
        heap.assertAllDead(() -> AUDITED.close(AUDITED.open("emma")));
    }

    @Test
    void thereAreTooManyStores(HeapAssertions heap) {
        Store another = new Store(false);
        heap.assertInstances(Store.class, 1);
        another.open("nobody");
    }

    @Test
    void aSessionIsOutsideOfItsStore(HeapAssertions heap) {
        Store store = new Store(false);
        Session session = store.open("fay");
        shared = session;
        store.close(session);
        heap.assertOwnedBy(store, session);
    }

    @Test
    void aSessionIsShared(HeapAssertions heap) {
        Session session = AUDITED.open("gina");
        heap.assertUnshared(session);
    }

    @Test
    void theAuditGrows(HeapAssertions heap) {
        heap.assertNoGrowth(() -> AUDITED.close(AUDITED.open("hanna")), 10);
    }

    @Test
    void aListOfItsOwnGrows(HeapAssertions heap) {
        heap.assertNoGrowth(() -> log = new Entry(log), 10);
    }

    @Test
    void aTestMayFailByItself() {
        GcAssertions.assertDead(AUDITED.open("ida"));
        throw new IllegalStateException("what the test itself says");
    }
}
