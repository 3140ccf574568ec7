package anthill.leaks;

import java.io.File;

/** A server calls deleteOnExit for the file of each upload; the JDK keeps the paths until the end of the JVM. */
final class DeleteOnExit {
    private DeleteOnExit() {}

    public static void main(String[] args) throws Exception {
        UploadReceiver receiver = new UploadReceiver(new File(System.getProperty("java.io.tmpdir"), "anthill-uploads"));
        Leak.of("File.deleteOnExit is called for each upload, and the JDK keeps every path until the JVM ends")
                .culprit("java.io.DeleteOnExitHook.files")
                .element("java.util.LinkedHashMap$Entry")
                .amongOthers()
                .items(10_000)
                .run(args, receiver::receive);
    }
}

final class UploadReceiver {
    private final File directory;

    UploadReceiver(File directory) {
        this.directory = directory;
    }

    /** The file is deleted when it was processed, which is why nothing is left on the disk. */
    void receive(int number) {
        File file = new File(directory, Words.mail(number) + "/" + Words.text(number, 200).replace(' ', '-') + ".tmp");
        file.deleteOnExit();
    }
}
