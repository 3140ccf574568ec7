package shop;

import jakarta.servlet.annotation.WebServlet;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;

/** Fills the catalog, leaves behind what it is asked to, and answers with the size of the catalog. */
@WebServlet("/fill")
public final class FillServlet extends HttpServlet {
    private static final long serialVersionUID = 1;

    @Override
    protected void doGet(HttpServletRequest request, HttpServletResponse response)
            throws IOException {
        int products = Catalog.fill(Integer.parseInt(request.getParameter("products")));
        Leak.start(request.getParameter("leak"));
        response.getWriter().print(products);
    }
}
