package shop;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

/** A test that does not look at the heap. */
class PlainTest {
    @Test
    void aSessionKnowsItsUser() {
        assertEquals("anna", new Store(false).open("anna").user());
    }
}
