package shop;

import dev.anthill.GcAssertions;
import dev.anthill.junit.HeapAssertions;
import dev.anthill.junit.LeakCheck;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests that run at the same time, half of which leak: each hears of its own leaks only. */
@LeakCheck
@Execution(ExecutionMode.CONCURRENT)
class ParallelTest {
    private static final Store AUDITED = new Store(true);
    private static final Store STORE = new Store(false);

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7, 8})
    void atOnce(int number, HeapAssertions heap) {
        Session session = of(number).open("visitor " + number);
        of(number).close(session);
        heap.assertDead(session, "at once " + number);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7, 8})
    void afterwards(int number) {
        Session session = of(number).open("visitor " + number);
        of(number).close(session);
        GcAssertions.assertDead(session, "afterwards " + number);
    }

    /** Even numbers leak. */
    private static Store of(int number) {
        return number % 2 == 0 ? AUDITED : STORE;
    }
}
