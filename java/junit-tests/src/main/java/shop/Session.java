package shop;

/** Somebody's visit of the shop. */
public class Session {
    private final String user;

    public Session(String user) {
        this.user = user;
    }

    public String user() {
        return user;
    }
}
