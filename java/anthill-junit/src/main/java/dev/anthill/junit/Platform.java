package dev.anthill.junit;

import java.util.Locale;

/** What the machine is called where the program and its agent are kept for it, such as {@code linux-x86_64}. */
final class Platform {
    private Platform() {}

    static String name() {
        return name(System.getProperty("os.name", ""), System.getProperty("os.arch", ""));
    }

    static String name(String system, String processor) {
        String first = system.toLowerCase(Locale.ROOT).split(" ")[0];
        String arch = processor.toLowerCase(Locale.ROOT);
        switch (arch) {
            case "amd64":
                arch = "x86_64";
                break;
            case "arm64":
                arch = "aarch64";
                break;
            default:
        }
        return first + "-" + arch;
    }
}
