package anthill.samples;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * One leak whose owners change: products are in two indices for good, and the latest of them in lists
 * of a registry that come and go. On each line {@code next} as many products are added; in the third
 * step there is a large buffer besides, which is gone in the fourth.
 *
 * <p>Arguments: products in a step (default 20,000).
 */
final class ChangingOwners {
    static final Map<Long, Product> byId = new HashMap<>();

    static final Map<String, Product> byName = new LinkedHashMap<>();

    /** Lists of products that no index has. */
    static final Map<String, List<Product>> registry = new HashMap<>();

    static List<byte[]> passing;

    private ChangingOwners() {}

    public static void main(String[] args) throws IOException {
        int perStep = Console.argument(args, 0, 20_000);
        int step = 1;
        String command;
        do {
            fill(perStep, step);
            Console.truth("owners", 2 + registry.size());
            Console.truth("passing bytes", passing == null ? 0 : passing.size() * 1_000L);
            command = Console.ready();
            step++;
        } while (command != null);
    }

    private static void fill(int products, int step) {
        for (long id = (long) step * products; id < (step + 1L) * products; id++) {
            Product product = new Product(id, "product " + id, (int) id);
            byId.put(product.id, product);
            byName.put(product.name, product);
        }
        registry.clear();
        if (step % 2 == 0) {
            List<Product> latest = new ArrayList<>();
            for (int i = 0; i < products / 2; i++) {
                latest.add(new Product(-i, "latest " + i, i));
            }
            registry.put("step " + step, latest);
        }
        passing = step == 3 ? buffers(products) : null;
    }

    private static List<byte[]> buffers(int count) {
        List<byte[]> buffers = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            buffers.add(new byte[1_000]);
        }
        return buffers;
    }
}
