/**
 * How assertions are kept. The classes and fields {@code Asserted} and its subclasses, {@code Owner}, {@code Region} and {@code Site} are read from heap dumps by their names: whoever
 * changes them changes the reader too. Nothing here is for programs.
 */
package dev.anthill.internal;
