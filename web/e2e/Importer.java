import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;

/** Threads that hold rows and an index of them in local variables, for the picture of the threads. */
final class Importer implements Runnable {
    private static final CountDownLatch READ = new CountDownLatch(3);
    private static final CountDownLatch WRITTEN = new CountDownLatch(1);

    private final int count;

    private Importer(int count) {
        this.count = count;
    }

    @Override
    public void run() {
        List<String> rows = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            rows.add("row " + i + " of " + count);
        }
        write(index(rows), rows.size());
    }

    private static Map<String, Integer> index(List<String> rows) {
        Map<String, Integer> index = new HashMap<>();
        for (String row : rows) {
            index.put(row, index.size());
        }
        return index;
    }

    private static void write(Map<String, Integer> index, int count) {
        READ.countDown();
        try {
            WRITTEN.await();
        } catch (InterruptedException end) {
            return;
        }
        if (index.size() != count) {
            throw new IllegalStateException("two rows are the same");
        }
    }

    public static void main(String[] args) throws Exception {
        new Thread(new Importer(20_000), "import-1").start();
        new Thread(new Importer(12_000), "import-2").start();
        new Thread(new Importer(5_000), "import-3").start();
        READ.await();
        System.out.println("READY");
        while (System.in.read() >= 0) {
            // Until the input ends.
        }
        WRITTEN.countDown();
    }
}
