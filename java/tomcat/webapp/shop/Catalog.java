package shop;

import java.util.ArrayList;
import java.util.List;

/** What every instance of the application keeps while it runs, which is all that a leak costs. */
final class Catalog {
    private static final List<Product> products = new ArrayList<>();

    private Catalog() {}

    static int fill(int count) {
        for (int i = 0; i < count; i++) {
            products.add(new Product(i));
        }
        return products.size();
    }
}
