package anthill.leaks;

import java.util.ArrayList;
import java.util.List;
import kotlin.Unit;
import kotlinx.coroutines.CompletableJob;
import kotlinx.coroutines.JobKt;

/**
 * Each upload gets a child of the application's Kotlin Job, so that all of them are cancelled at the
 * end. A child that nobody completes stays with its parent.
 */
final class CoroutineJobs {
    private CoroutineJobs() {}

    public static void main(String[] args) throws Exception {
        UploadScope scope = new UploadScope();
        Leak.of("child jobs of the application's job never complete, so the parent keeps them")
                .culprit("kotlinx.coroutines.JobSupport._state$volatile")
                .also("anthill.leaks.UploadScope.job")
                .element(UploadSession.class)
                .run(args, number -> scope.begin(number).finish());
    }
}

final class UploadScope {
    private final CompletableJob job = JobKt.Job(null);

    UploadSession begin(int number) {
        UploadSession session = new UploadSession(Words.mail(number), JobKt.Job(job));
        for (int i = 0; i < 8; i++) {
            session.parts.add("part " + i + ": " + Words.text(number, 100));
        }
        return session;
    }
}

final class UploadSession {
    final String user;
    final CompletableJob job;
    final List<String> parts = new ArrayList<>();
    private boolean open = true;

    UploadSession(String user, CompletableJob job) {
        this.user = user;
        this.job = job;
        job.invokeOnCompletion(cause -> {
            finish();
            return Unit.INSTANCE;
        });
    }

    /** Should complete the job. */
    void finish() {
        open = false;
    }

    boolean isOpen() {
        return open;
    }
}
