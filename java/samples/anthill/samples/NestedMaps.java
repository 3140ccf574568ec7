package anthill.samples;

import java.io.IOException;
import java.util.HashMap;
import java.util.Map;

/**
 * Maps within maps, where the steps from one level to the next look alike but lead to different
 * objects: tenants by name, each with its sessions by number. A few sessions hold most of the bytes.
 *
 * <p>Arguments: tenants (default 100), sessions of each (default 50), bytes of the one large session of
 * each (default 10,000).
 */
final class NestedMaps {
    static final Map<String, Tenant> tenants = new HashMap<>();

    private NestedMaps() {}

    static final class Tenant {
        final Map<Integer, Session> sessions = new HashMap<>();
        LargeSession large;
    }

    static class Session {
        final byte[] state;

        Session(int bytes) {
            state = new byte[bytes];
        }
    }

    static final class LargeSession extends Session {
        LargeSession(int bytes) {
            super(bytes);
        }
    }

    public static void main(String[] args) throws IOException {
        int tenantCount = Console.argument(args, 0, 100);
        int sessionCount = Console.argument(args, 1, 50);
        int largeBytes = Console.argument(args, 2, 10_000);
        for (int i = 0; i < tenantCount; i++) {
            Tenant tenant = new Tenant();
            tenants.put("tenant " + i, tenant);
            for (int session = 0; session < sessionCount; session++) {
                tenant.sessions.put(session, new Session(8));
            }
            tenant.large = new LargeSession(largeBytes);
        }

        Console.truth("tenants", tenantCount);
        Console.truth("sessions", tenantCount * sessionCount);
        Console.truth("large sessions", tenantCount);
        Console.readyUntilClosed();
    }
}
