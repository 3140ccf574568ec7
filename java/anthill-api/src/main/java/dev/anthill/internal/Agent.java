package dev.anthill.internal;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/** Anthill's agent in this JVM. Its library has the native methods and calls those that are said to be called by it. */
public final class Agent {
    /** Whether assertions are kept. */
    public static volatile boolean active;

    /** There is no agent, or nobody it works for. */
    private static final int OFF = 0;
    /** The agent is here; what checks is started with the first assertion. */
    private static final int IDLE = 1;
    private static final int STARTING = 2;
    private static final int CONNECTED = 3;
    /** What checks cannot be started or is gone. */
    private static final int ALONE = 4;
    /** Without an agent; assertions are kept for a heap dump. */
    private static final int KEPT = 5;

    /** Copies of this class, one for each class loader, have ids of their own. */
    private static final int COPY_SHIFT = 40;

    private static final boolean REQUIRED = Boolean.getBoolean("dev.anthill.required");
    private static final Object LOCK = new Object();
    private static final AtomicLong LAST_ID = new AtomicLong();

    private static volatile int state;
    /** Whether the agent has told the state itself, perhaps while this class was being initialised. */
    private static boolean told;

    /** Why the agent is alone. */
    private static volatile String reason = "";

    static {
        int found = OFF;
        try {
            long registered = register();
            LAST_ID.set(registered >>> 8 << COPY_SHIFT);
            found = (int) (registered & 0xff);
        } catch (UnsatisfiedLinkError noAgent) {
            if (Boolean.getBoolean("dev.anthill.keep")) {
                found = KEPT;
            }
        }
        synchronized (LOCK) {
            if (!told) {
                become(found);
            }
        }
    }

    private Agent() {}

    static long nextId() {
        return LAST_ID.incrementAndGet();
    }

    /** The last id that was given. */
    static long lastId() {
        return LAST_ID.get();
    }

    /** Whether this copy of the class gave the id. */
    static boolean gave(long id) {
        return id >>> COPY_SHIFT == LAST_ID.get() >>> COPY_SHIFT;
    }

    /** An assertion was made without an agent. */
    public static void absent() {
        if (REQUIRED) {
            throw missing();
        }
    }

    public static IllegalStateException missing() {
        return new IllegalStateException(
                "Anthill's agent is not loaded in this JVM\nStart the program with"
                        + " -agentpath:/path/to/libanthill_agent.so or `anthill record -- java ...`, or run `anthill attach "
                        + ProcessHandle.current().pid()
                        + " --assertions`.");
    }

    /** Somebody asserts something: from now on it must be checked. */
    static void ready() {
        if (state == IDLE) {
            synchronized (LOCK) {
                if (state == IDLE) {
                    state = STARTING;
                    begin();
                }
            }
        }
    }

    static boolean hasNatives() {
        return state != KEPT && state != OFF;
    }

    static boolean isAlone() {
        return state == ALONE;
    }

    static String reason() {
        return reason;
    }

    /** Whether there is somebody who checks; waits while it is being started. */
    static boolean isConnected(long patienceSeconds) {
        ready();
        boolean interrupted = false;
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(patienceSeconds);
        synchronized (LOCK) {
            while (state == STARTING && System.nanoTime() < deadline) {
                try {
                    LOCK.wait(100);
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        return state == CONNECTED;
    }

    /** Called by the agent when it begins or ends to work for somebody, also if this class was there before. */
    private static void changed(int to, String why) {
        synchronized (LOCK) {
            told = true;
            reason = why == null ? "" : why;
            become(to);
        }
        if (to != CONNECTED && to != STARTING) {
            Checks.lost();
        }
        if (to == OFF) {
            Ledger.clear();
            Regions.clear();
        }
    }

    private static void become(int to) {
        synchronized (LOCK) {
            state = to;
            active = to != OFF;
            LOCK.notifyAll();
        }
    }

    /** Called by the agent: drops what has come true and says how many assertions of each kind are left to check. */
    private static long[] count(boolean collected, boolean reported) {
        if (collected) {
            Regions.findSurvivors();
        }
        return Ledger.count(reported);
    }

    /** Called by the agent with the result of a check, {@link Checks#FIELDS} texts for each violation. */
    private static void deliver(long number, String failure, String[] found) {
        Checks.deliver(number, failure, found);
    }

    /** Found in the agent's library by its name; makes the other native methods known. The state is in the lowest byte, the number of
     * this copy of the class in the others. */
    private static native long register();

    /** Starts what checks; {@link #changed} tells when it is there, or at once that it must be tried again. */
    private static native void begin();

    /** The number of the place in the program where this was called from. */
    static native int site();

    /** The frames of such a place. */
    static native String[] frames(int site);

    /** Asks for a check after a collection; false if there is nobody to ask. Local variables of the thread with that id, if any, may refer to objects
     * that are asserted dead. */
    static native boolean ask(long number, long forgiven);

    /** Collects garbage. */
    static native void collect();

    /** Full collections so far; negative if that is not known. */
    static native long fullCollections();

    /** One region more is open: all allocations are looked at from now on. False, and none more is open, if they cannot be. */
    static native boolean open();

    /** From now on what this thread allocates belongs to the region; 0 for none. */
    static native void enter(long region);

    /** One region of this thread less is open, unless the agent has closed it when its recorder left. */
    static native void close();

    /** What was allocated in the region and is still there; later calls do not have it again. */
    static native Object[] survivors(long region);
}
