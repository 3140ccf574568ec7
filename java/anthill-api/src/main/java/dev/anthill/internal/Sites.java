package dev.anthill.internal;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;

/** The places where assertions are made, each once. */
final class Sites {
    private static final int FRAMES = 6;
    /** More are not remembered, so that a program which makes up classes cannot fill the memory. */
    private static final int MOST = 100_000;

    private static final Map<List<String>, Site> WALKED = new ConcurrentHashMap<>();
    private static volatile Site[] known = new Site[64];

    private Sites() {}

    /** Where the program is now. */
    static Site here() {
        if (!Agent.hasNatives()) {
            return walked();
        }
        int number = Agent.site();
        Site[] sites = known;
        Site site = number < sites.length ? sites[number] : null;
        return site != null ? site : added(number);
    }

    private static synchronized Site added(int number) {
        String[] frames = Agent.frames(number);
        Site site = new Site(frames == null ? new String[0] : frames);
        if (number < MOST) {
            Site[] sites = known;
            if (number >= sites.length) {
                sites = Arrays.copyOf(sites, Math.max(number + 1, 2 * sites.length));
            }
            sites[number] = site;
            known = sites;
        }
        return site;
    }

    private static Site walked() {
        List<String> frames =
                StackWalker.getInstance()
                        .walk(
                                all ->
                                        all.filter(frame -> isProgram(frame.getClassName()))
                                                .limit(FRAMES)
                                                .map(Sites::words)
                                                .collect(Collectors.toList()));
        Site site = WALKED.get(frames);
        if (site == null) {
            site = new Site(frames.toArray(new String[0]));
            if (WALKED.size() < MOST) {
                WALKED.put(frames, site);
            }
        }
        return site;
    }

    private static boolean isProgram(String name) {
        return !name.startsWith("dev.anthill.")
                && !name.startsWith("java.")
                && !name.startsWith("jdk.")
                && !name.startsWith("sun.")
                && !name.startsWith("org.junit.")
                && !name.startsWith("org.apache.maven.surefire.");
    }

    private static String words(StackWalker.StackFrame frame) {
        String file = frame.getFileName();
        String place = file == null ? "Unknown Source" : file;
        String line = file == null || frame.getLineNumber() < 0 ? "" : ":" + frame.getLineNumber();
        return frame.getClassName() + "." + frame.getMethodName() + "(" + place + line + ")";
    }
}
