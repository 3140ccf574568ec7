/** Assertions about the heap, checked on a running program by Anthill's agent: start with {@link dev.anthill.GcAssertions}. */
package dev.anthill;
