package shop;

import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.anthill.GcAssertions;
import dev.anthill.junit.HeapAssertions;
import dev.anthill.junit.LeakCheck;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;

/** Everything is well here: nothing fails, nothing is printed. */
@LeakCheck
class PassingTest {
    private static final Store STORE = new Store(false);

    @BeforeEach
    void warmUp() {
        STORE.close(STORE.open("the first one"));
    }

    @Test
    void theAgentIsThere() {
        assertTrue(GcAssertions.isActive());
    }

    @Test
    void aClosedSessionIsDeadAlthoughTheTestNamesIt(HeapAssertions heap) {
        Session session = STORE.open("anna");
        STORE.close(session);
        heap.assertDead(session, "a closed session");
    }

    @Test
    void whatTheProgramAssertsIsCheckedAfterTheTest() {
        Session session = STORE.open("anna");
        STORE.close(session);
        GcAssertions.assertDead(session);
    }

    @Test
    @LeakCheck(types = Session.class)
    void noSessionSurvives() {
        STORE.close(STORE.open("anna"));
    }

    @Test
    @LeakCheck(region = true)
    void nothingSurvives() {
        STORE.close(STORE.open("anna"));
    }

    @Test
    void aRegionLeavesNothing(HeapAssertions heap) {
        heap.assertAllDead(() -> STORE.close(STORE.open("anna")));
    }

    @Test
    void instancesAreFew(HeapAssertions heap) {
        heap.assertInstances(Store.class, 1_000);
    }

    @Test
    void anOpenSessionIsOwnedAndUnshared(HeapAssertions heap) {
        Session session = STORE.open("bea");
        heap.assertOwnedBy(STORE, session);
        heap.assertUnshared(session);
        STORE.close(session);
    }

    @RepeatedTest(2)
    void openingAndClosingDoesNotGrow(HeapAssertions heap) {
        heap.assertNoGrowth(() -> STORE.close(STORE.open("anna")));
    }
}
