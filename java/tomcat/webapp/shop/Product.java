package shop;

final class Product {
    private final int number;

    Product(int number) {
        this.number = number;
    }

    @Override
    public String toString() {
        return "product " + number;
    }
}
