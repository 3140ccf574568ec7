package shop;

import anthill.samples.SharedRegistry;
import java.sql.DriverManager;
import java.sql.SQLException;

/** Ways to leave something behind that the class loader of this application cannot be freed for. */
final class Leak {
    private static final ThreadLocal<Product> lastViewed = new ThreadLocal<>();

    private Leak() {}

    /** Several ways are separated by commas. */
    static void start(String ways) {
        for (String way : ways.split(",")) {
            startOne(way);
        }
    }

    private static void startOne(String way) {
        switch (way) {
            case "thread":
                new Thread(Leak::refreshForever, "shop-refresher").start();
                break;
            case "threadlocal":
                lastViewed.set(new Product(-1));
                break;
            case "static":
                SharedRegistry.add(new Product(-1));
                break;
            case "driver":
                // Made now: a stopped application loads no more classes.
                ShopDriver driver = new ShopDriver();
                SharedRegistry.runLater(() -> register(driver));
                break;
            case "hook":
                Runtime.getRuntime().addShutdownHook(new Thread(Leak::sayGoodbye, "shop-goodbye"));
                break;
            case "context":
                SharedRegistry.startHelper();
                break;
            case "none":
                break;
            default:
                throw new IllegalArgumentException(way);
        }
    }

    private static void refreshForever() {
        try {
            Thread.sleep(Long.MAX_VALUE);
        } catch (InterruptedException end) {
            Thread.currentThread().interrupt();
        }
    }

    private static void sayGoodbye() {
        System.err.println("the shop closes");
    }

    private static void register(ShopDriver driver) {
        try {
            DriverManager.registerDriver(driver);
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }
}
