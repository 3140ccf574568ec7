/**
 * How assertions are kept. The classes and fields {@code Asserted} and its subclasses, {@code Owner}, {@code Region} and {@code Site} are read from heap dumps by their names; a
 * change here needs the same change in the reader ({@code crates/assertions}). Not for use by programs.
 */
package dev.anthill.internal;
