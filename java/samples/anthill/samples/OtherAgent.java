package anthill.samples;

import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.security.ProtectionDomain;
import java.util.concurrent.atomic.AtomicLong;

/** A Java agent that looks at every class and changes none, as many monitoring tools do. */
public final class OtherAgent {
    static final AtomicLong SEEN = new AtomicLong();

    private OtherAgent() {}

    public static void premain(String options, Instrumentation instrumentation) {
        instrumentation.addTransformer(new ClassFileTransformer() {
            @Override
            public byte[] transform(
                    ClassLoader loader,
                    String name,
                    Class<?> redefined,
                    ProtectionDomain domain,
                    byte[] code) {
                SEEN.incrementAndGet();
                return null;
            }
        });
    }
}
