package anthill.samples;

import dev.anthill.GcAssertions;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.StringField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.store.ByteBuffersDirectory;

/**
 * A searcher of Lucene for each of 32 threads, where one for all of them would do: Aftandilian and Guyer (2009), section 3.2.2.
 *
 * <p>Argument: {@code fixed} shares one.
 */
final class AssertedSearchers {
    private static final int THREADS = 32;

    private AssertedSearchers() {}

    /** What a thread does: searches, and keeps its searcher. */
    private static final class Search implements Runnable {
        private final IndexSearcher searcher;
        private final CountDownLatch searched;

        Search(IndexSearcher searcher, CountDownLatch searched) {
            this.searcher = searcher;
            this.searched = searched;
        }

        @Override
        public void run() {
            try {
                if (searcher.count(new TermQuery(new Term("name", "ant"))) == 1) {
                    searched.countDown();
                }
                Thread.sleep(Long.MAX_VALUE);
            } catch (IOException e) {
                throw new IllegalStateException(e);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }

    public static void main(String[] args) throws IOException, InterruptedException {
        boolean fixed = Asserted.isFixed(args, 0);
        GcAssertions.assertInstances(IndexSearcher.class, 1, "one searcher for all searches");
        ByteBuffersDirectory directory = new ByteBuffersDirectory();
        write(directory);
        ExecutorService threads = Executors.newFixedThreadPool(THREADS);
        try (DirectoryReader reader = DirectoryReader.open(directory)) {
            search(reader, threads, fixed);
            Console.truth("searchers", fixed ? 1 : THREADS);
            Asserted.checkAndWait();
        } finally {
            threads.shutdownNow();
        }
    }

    private static void write(ByteBuffersDirectory directory) throws IOException {
        try (IndexWriter writer = new IndexWriter(directory, new IndexWriterConfig(null))) {
            Document document = new Document();
            document.add(new StringField("name", "ant", Field.Store.NO));
            writer.addDocument(document);
        }
    }

    private static void search(DirectoryReader reader, ExecutorService threads, boolean fixed)
            throws InterruptedException {
        CountDownLatch searched = new CountDownLatch(THREADS);
        List<Search> searches = new ArrayList<>();
        IndexSearcher shared = new IndexSearcher(reader);
        for (int i = 0; i < THREADS; i++) {
            searches.add(new Search(fixed ? shared : new IndexSearcher(reader), searched));
        }
        searches.forEach(threads::execute);
        searched.await();
    }
}
