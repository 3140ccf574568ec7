package shop;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Open sessions; a store that audits never forgets one. */
public final class Store {
    private final Map<String, Session> open = new HashMap<>();
    private final List<Session> audit = new ArrayList<>();
    private final boolean audits;

    public Store(boolean audits) {
        this.audits = audits;
    }

    public Session open(String user) {
        Session session = new Session(user);
        open.put(user, session);
        if (audits) {
            audit.add(session);
        }
        return session;
    }

    public void close(Session session) {
        open.remove(session.user());
    }

    public Map<String, Session> sessions() {
        return open;
    }
}
