package anthill.leaks;

import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.InetAddress;
import java.net.URL;
import java.util.ArrayList;
import java.util.List;
import javax.servlet.http.HttpServlet;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletResponse;
import javax.servlet.http.HttpSession;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.servlet.ServletContextHandler;
import org.eclipse.jetty.servlet.ServletHolder;
import org.eclipse.jetty.util.thread.QueuedThreadPool;

/**
 * A Jetty whose sessions have no timeout, and a health check that sends no cookie: every one of its
 * requests begins a session.
 */
final class HttpSessions {
    private HttpSessions() {}

    public static void main(String[] args) throws Exception {
        QuietLog.setUp();
        Server server = new Server(new QueuedThreadPool(8, 8));
        ServerConnector connector = new ServerConnector(server, 1, 1);
        connector.setHost(InetAddress.getLoopbackAddress().getHostAddress());
        server.addConnector(connector);
        ServletContextHandler context = new ServletContextHandler(ServletContextHandler.SESSIONS);
        context.setContextPath("/");
        context.getSessionHandler().setMaxInactiveInterval(-1);
        context.addServlet(new ServletHolder(new BasketServlet()), "/basket");
        server.setHandler(context);
        server.start();

        URL url = new URL("http", connector.getHost(), connector.getLocalPort(), "/basket");
        Leak.of("each request without a cookie begins a session that never times out")
                .culprit("org.eclipse.jetty.server.session.DefaultSessionCache._sessions")
                .also("org.eclipse.jetty.server.session.SessionHandler._sessionCache")
                .element("org.eclipse.jetty.server.session.Session")
                .items(1_000)
                .run(args, number -> check(url));
    }

    private static void check(URL url) throws IOException {
        HttpURLConnection connection = (HttpURLConnection) url.openConnection();
        try (InputStream answer = connection.getInputStream()) {
            answer.readAllBytes();
        }
    }
}

final class BasketServlet extends HttpServlet {
    private static final long serialVersionUID = 1;

    private int visitors;

    @Override
    protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
        HttpSession session = request.getSession();
        Basket basket = (Basket) session.getAttribute("basket");
        if (basket == null) {
            basket = new Basket(nextVisitor());
            session.setAttribute("basket", basket);
        }
        response.setContentType("text/plain");
        response.getWriter().println(basket.offers.size());
    }

    private synchronized int nextVisitor() {
        return visitors++;
    }
}

final class Basket {
    final int visitor;
    final List<String> offers = new ArrayList<>();

    Basket(int visitor) {
        this.visitor = visitor;
        for (int i = 0; i < 12; i++) {
            offers.add(Words.text(visitor + i, 200));
        }
    }
}
