package dev.anthill.internal;

import java.lang.ref.WeakReference;

/** The owner of objects; without a referent when it is dead. */
final class Owner extends WeakReference<Object> {
    Owner(Object owner) {
        super(owner);
    }
}
