package anthill.samples;

/** What both caches of {@link MultiCache} hold; only the caches keep products alive. */
final class Product {
    private static final int MONTHS = 20;

    final long id;
    final String name;
    final int[] sales = new int[MONTHS];
    final int[] returns = new int[MONTHS];
    final Integer price;

    Product(long id, String name, int price) {
        this.id = id;
        this.name = name;
        this.price = price;
    }

    /** Whether the price is an object of this product alone: small numbers share the JVM's boxes. */
    boolean ownsPrice() {
        return price > 127;
    }
}
