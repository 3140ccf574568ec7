package dev.anthill.junit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class JsonTest {
    @Test
    void valuesAreRead() {
        Json.Node json = Json.parse(" {\"a\": [1, -2.5e1, null, true, \"x\\n\\u00e4\\\"→\"], \"b\": {\"c\": {}, \"d\": []}} ");
        assertEquals(1, json.get("a").list().get(0).number());
        assertEquals(-25, json.get("a").list().get(1).number());
        assertEquals(0, json.get("a").list().get(2).number());
        assertEquals("x\nä\"→", json.get("a").list().get(4).text());
        assertTrue(json.get("b").get("d").list().isEmpty());
        assertTrue(json.get("nothing").get("at all").list().isEmpty());
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "{", "[1 2]", "{\"a\"}", "\"", "\"\\u12\"", "[1]]", "nul", "{\"a\":1,}"})
    void whatIsNoJsonIsSaid(String text) {
        assertThrows(IllegalArgumentException.class, () -> Json.parse(text));
    }
}
