package anthill.workloads;

import java.io.IOException;
import java.util.Random;
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
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.store.ByteBuffersDirectory;

/** Indexes generated texts in memory and searches them; the index grows over some rounds, then begins anew. */
final class Search extends Workload {
    private static final int DOCUMENTS = 8_000;
    private static final int WORDS = 60;
    private static final int VOCABULARY = 5_000;
    private static final int ROUNDS_OF_AN_INDEX = 4;
    private ByteBuffersDirectory directory;
    private final int[] documentsWith = new int[VOCABULARY];

    @Override
    void round(int number) throws IOException {
        if (number % ROUNDS_OF_AN_INDEX == 0) {
            directory = new ByteBuffersDirectory();
            java.util.Arrays.fill(documentsWith, 0);
        }
        Random random = new Random(number);
        IndexWriterConfig config = new IndexWriterConfig(new StandardAnalyzer());
        try (IndexWriter writer = new IndexWriter(directory, config)) {
            boolean[] seen = new boolean[VOCABULARY];
            for (int document = 0; document < DOCUMENTS; document++) {
                StringBuilder text = new StringBuilder();
                java.util.Arrays.fill(seen, false);
                for (int word = 0; word < WORDS; word++) {
                    int which = (int) (VOCABULARY * Math.pow(random.nextDouble(), 3));
                    text.append("word").append(which).append(' ');
                    if (!seen[which]) {
                        seen[which] = true;
                        documentsWith[which]++;
                    }
                }
                Document made = new Document();
                made.add(new StringField("id", number + "-" + document, Field.Store.YES));
                made.add(new TextField("text", text.toString(), Field.Store.NO));
                writer.addDocument(made);
            }
        }
        try (DirectoryReader reader = DirectoryReader.open(directory)) {
            IndexSearcher searcher = new IndexSearcher(reader);
            for (int word = 0; word < VOCABULARY; word += 7) {
                int found = searcher.count(new TermQuery(new Term("text", "word" + word)));
                check("word" + word, documentsWith[word], found);
                searcher.search(new TermQuery(new Term("text", "word" + word)), 50);
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        new Search().run();
    }
}
