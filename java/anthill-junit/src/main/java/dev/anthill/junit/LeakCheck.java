package dev.anthill.junit;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Checks the heap after a test, or after every test of a class: the GC assertions made during the test must hold. If one is
 * violated, the test fails with the path to the object. Tests may declare a parameter of type {@link HeapAssertions}.
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
 * <p>The check follows the test method and its {@code @AfterEach} methods. A test that has already failed is not checked.
 */
@Documented
@Inherited
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.TYPE, ElementType.METHOD})
@ExtendWith(AnthillExtension.class)
public @interface LeakCheck {
    /**
     * Types, including their subtypes, whose instances must not survive if the test's own thread allocates them in the test method.
     */
    Class<?>[] types() default {};

    /**
     * Whether the test fails if any object survives that its own thread allocates in the test method. This is strict: classes,
     * caches and loggers that code creates on its first run survive, so run the code once in {@code @BeforeEach}.
     */
    boolean region() default false;
}
