package anthill.samples;

import java.io.IOException;

/**
 * A leak with two owners: every product is in two caches, so neither map alone keeps it alive and a
 * dominator tree blames neither. After Weninger, Gander and Mössenböck (2018), section 5.1.
 *
 * <p>A product comes to 8.9 objects: itself, its name (a string and its bytes), two arrays, a price
 * that nine times out of ten is a box of its own, its id as a key, and one map node in each cache.
 *
 * <p>Arguments: number of products (default 1,000,000). Each line of input adds as many again.
 */
final class MultiCache {
    /** Above the range in which {@code Long.valueOf} hands out shared boxes. */
    private static final long FIRST_ID = 1_000_000;

    private MultiCache() {}

    public static void main(String[] args) throws IOException {
        int products = Console.argument(args, 0, 1_000_000);
        int all = 0;
        int ownPrices = 0;
        do {
            ownPrices += fill(all, products);
            all += products;
            Console.truth("products", all);
            Console.truth("own prices", ownPrices);
            // A node and a key for every product, the map and its table.
            Console.truth("objects retained by idCache", 2L * all + 2);
            // The key is the product's own name.
            Console.truth("objects retained by nameCache", all + 2L);
            Console.truth("objects retained by both caches", 8L * all + ownPrices + 4);
        } while (Console.ready() != null);
    }

    private static int fill(int from, int products) {
        int ownPrices = 0;
        for (int i = from; i < from + products; i++) {
            int price = i % 10 == 0 ? 99 : 1_000 + i;
            Product product = new Product(FIRST_ID + i, "product " + i, price);
            IdCache.idCache.put(product.id, product);
            NameCache.nameCache.put(product.name, product);
            if (product.ownsPrice()) {
                ownPrices++;
            }
        }
        return ownPrices;
    }
}
