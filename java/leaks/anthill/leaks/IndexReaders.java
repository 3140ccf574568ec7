package anthill.leaks;

import java.io.IOException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.lucene.analysis.standard.StandardAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.StringField;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.search.TopDocs;
import org.apache.lucene.store.ByteBuffersDirectory;

/**
 * A search can be scrolled, so it keeps a Lucene reader of its own. Clients that do not scroll to the
 * end leave it open for ever.
 */
final class IndexReaders {
    private IndexReaders() {}

    public static void main(String[] args) throws Exception {
        ScrollService service = new ScrollService();
        service.index(100);
        Leak.of("searches that were not scrolled to their end keep an open index reader each")
                .culprit("anthill.leaks.ScrollService.scrolls")
                .also("anthill.leaks.Scroll.searcher")
                .element("org.apache.lucene.index.StandardDirectoryReader")
                .items(150)
                .run(args, number -> service.search("scroll-" + number, "delivery"));
    }
}

final class ScrollService {
    private final ByteBuffersDirectory directory = new ByteBuffersDirectory();
    private final Map<String, Scroll> scrolls = new ConcurrentHashMap<>();

    void index(int documents) throws IOException {
        try (IndexWriter writer = new IndexWriter(directory, new IndexWriterConfig(new StandardAnalyzer()))) {
            for (int i = 0; i < documents; i++) {
                Document document = new Document();
                document.add(new StringField("id", Integer.toString(i), Field.Store.YES));
                document.add(new TextField("body", Words.text(i, 300), Field.Store.YES));
                document.add(new TextField("author", Words.name(i), Field.Store.YES));
                writer.addDocument(document);
            }
        }
    }

    void search(String id, String word) throws IOException {
        Scroll scroll = new Scroll(new IndexSearcher(DirectoryReader.open(directory)), word);
        scrolls.put(id, scroll);
        if (!scroll.next()) {
            scrolls.remove(id).close();
        }
    }
}

final class Scroll {
    private static final int PAGE = 10;

    private final IndexSearcher searcher;
    private final String word;
    private ScoreDoc last;

    Scroll(IndexSearcher searcher, String word) {
        this.searcher = searcher;
        this.word = word;
    }

    boolean next() throws IOException {
        TopDocs page = searcher.searchAfter(last, new TermQuery(new Term("body", word)), PAGE);
        if (page.scoreDocs.length == 0) {
            return false;
        }
        last = page.scoreDocs[page.scoreDocs.length - 1];
        return true;
    }

    void close() throws IOException {
        searcher.getIndexReader().close();
    }
}
