package anthill.leaks;

/**
 * A web application with its own JDBC driver is deployed again and again. Its driver registers itself
 * with DriverManager and is never deregistered, so that every old class loader stays.
 */
final class DriverLoader {
    private DriverLoader() {}

    public static void main(String[] args) throws Exception {
        Deployer deployer = new Deployer();
        Leak.of("drivers of undeployed applications are still registered with DriverManager")
                .culprit("java.sql.DriverManager.registeredDrivers")
                .element(ChildFirstLoader.class)
                .items(15)
                .run(args, number -> deployer.deploy());
    }
}

final class Deployer {
    private ClassLoader current;

    void deploy() throws ClassNotFoundException {
        current = new ChildFirstLoader("anthill.leaks.WarehouseDriver", "anthill.leaks.Words");
        Class.forName("anthill.leaks.WarehouseDriver", true, current);
    }
}
