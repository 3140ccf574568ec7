package dev.anthill;

/** What was asserted. */
public enum Kind {
    /** {@link GcAssertions#assertDead}: the object is dead. */
    DEAD,
    /** {@link GcAssertions#assertAllDead}: everything that was allocated in a region is dead. */
    ALL_DEAD,
    /** {@link GcAssertions#assertInstances}: a class has so many instances at most. */
    INSTANCES,
    /** {@link GcAssertions#assertUnshared}: the object is referred to once at most. */
    UNSHARED,
    /** {@link GcAssertions#assertOwnedBy}: the object is reachable from its owner, or dead. */
    OWNED_BY
}
