import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** A heap whose names and texts try to be more than texts. */
public class Hostile {
    static final Map<String, Object> MAP = new HashMap<>();

    public static void main(String[] arguments) throws Exception {
        MAP.put("<script>window.hacked = 1</script>", "<img src=x onerror='window.hacked = 2'>");
        MAP.put("\u202Eright to left\u202C", "\u05d0\u05d1\u05d2 \u0627\u0644\u0639\u202E");
        MAP.put("long", "x".repeat(1_000_000));
        MAP.put("controls\0\t\n\u0007", "{{constructor.constructor('window.hacked = 3')()}}");
        List<byte[]> bulk = new ArrayList<>();
        for (int i = 0; i < 500; i++) bulk.add(new byte[10_000]);
        MAP.put("\" > 'quotes' & <b>", bulk);
        Thread thread = new Thread(Hostile::forever, "<b onmouseover=alert(1)>thread</b>\u202E");
        thread.setDaemon(true);
        thread.start();
        System.out.println("READY");
        System.in.read();
    }

    private static void forever() {
        try {
            Thread.sleep(Long.MAX_VALUE);
        } catch (InterruptedException ended) {
            Thread.currentThread().interrupt();
        }
    }
}
