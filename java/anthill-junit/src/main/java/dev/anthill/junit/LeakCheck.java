package dev.anthill.junit;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Checks the heap after a test, or after every test of a class: the GC assertions that were made during the test must hold. A
 * test whose assertions do not hold fails with the path by which the object is reached. {@link HeapAssertions} can be asked for
 * as a parameter.
 *
 * <pre>{@code
 * @LeakCheck
 * class SessionTest {
 *     @Test
 *     void closedSessionsDie(HeapAssertions heap) {
 *         Session session = store.open("anna");
 *         store.close(session);
 *         heap.assertDead(session);
 *     }
 *
 *     @Test
 *     @LeakCheck(types = Session.class)
 *     void requestsLeaveNoSession() {
 *         server.handle(request());
 *     }
 * }
 * }</pre>
 *
 * <p>The check follows the test method and its {@code @AfterEach} methods. A test that failed already is not checked.
 */
@Documented
@Inherited
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.TYPE, ElementType.METHOD})
@ExtendWith(AnthillExtension.class)
public @interface LeakCheck {
    /**
     * Types of which nothing may survive that the test's own thread allocates, subclasses included: between the beginning of the
     * test method and its end.
     */
    Class<?>[] types() default {};

    /**
     * Whether nothing at all may survive that the test's own thread allocates. Strict: whatever is loaded, cached or logged for
     * the first time survives; make it happen in {@code @BeforeEach}.
     */
    boolean region() default false;
}
