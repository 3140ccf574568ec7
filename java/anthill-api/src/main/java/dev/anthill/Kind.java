package dev.anthill;

/** The kind of an assertion. */
public enum Kind {
    /** {@link GcAssertions#assertDead}: the object is dead. */
    DEAD,
    /** {@link GcAssertions#assertAllDead}: everything that was allocated in a region is dead. */
    ALL_DEAD,
    /** {@link GcAssertions#assertInstances}: a class has at most the given number of instances. */
    INSTANCES,
    /** {@link GcAssertions#assertUnshared}: at most one reference leads to the object. */
    UNSHARED,
    /** {@link GcAssertions#assertOwnedBy}: the object is reachable from its owner, or dead. */
    OWNED_BY
}
