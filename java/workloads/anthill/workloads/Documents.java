package anthill.workloads;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Map;

/** Writes and reads JSON documents and keeps the latest in a cache, as a web service would. */
final class Documents extends Workload {
    private static final int DOCUMENTS = 10_000;
    private static final int CACHED = 8_000;
    private final ObjectMapper mapper = new ObjectMapper();
    private final Map<String, JsonNode> cache = new LinkedHashMap<>() {
        private static final long serialVersionUID = 1;

        @Override
        protected boolean removeEldestEntry(Map.Entry<String, JsonNode> eldest) {
            return size() > CACHED;
        }
    };

    @Override
    void round(int number) throws IOException {
        long expected = 0;
        long found = 0;
        for (int document = 0; document < DOCUMENTS; document++) {
            ObjectNode order = mapper.createObjectNode();
            order.put("id", number + "/" + document);
            order.put("customer", "customer number " + document % 997);
            ArrayNode items = order.putArray("items");
            for (int item = 0; item < 12; item++) {
                ObjectNode made = items.addObject();
                made.put("name", "item " + item);
                made.put("amount", item * document % 101);
                made.put("note", "a note on item " + item + " of document " + document);
                expected += item * document % 101;
            }
            JsonNode read = mapper.readTree(mapper.writeValueAsBytes(order));
            for (JsonNode item : read.get("items")) {
                found += item.get("amount").asInt();
            }
            cache.put(read.get("id").asText(), read);
        }
        check("amounts", expected, found);
        check("cached", Math.min(CACHED, (number + 1) * DOCUMENTS), cache.size());
    }

    public static void main(String[] arguments) throws Exception {
        new Documents().run();
    }
}
