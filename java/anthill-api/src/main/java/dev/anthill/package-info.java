/** Assertions about the heap that Anthill checks while the program runs. Start with {@link dev.anthill.GcAssertions}. */
package dev.anthill;
