// What the kinds of waste are called, and what to make of them.

import type { WasteKind } from "../../api/types";

const KINDS: Record<WasteKind, { title: string; what: string }> = {
  "duplicate-strings": {
    title: "Duplicate strings",
    what: "Strings with equal contents, not counting the first of each.",
  },
  "duplicate-arrays": {
    title: "Duplicate arrays",
    what: "Arrays with equal elements, not all zero, not counting the first of each.",
  },
  "zero-arrays": {
    title: "Zero-filled arrays",
    what: "Arrays with only zeros. Most are buffers, which cannot be shared.",
  },
  "duplicate-boxes": {
    title: "Duplicate boxes",
    what: "Boxed numbers with the same value, not counting the first of each.",
  },
  "boxed-numbers": { title: "Boxed numbers", what: "All numbers that are objects, for your information." },
  "empty-collections": {
    title: "Empty collections",
    what: "Collections without elements that still have an array.",
  },
  "unused-collections": {
    title: "Unused collections",
    what: "Collections without elements and without an array.",
  },
  "sparse-collections": {
    title: "Sparse collections",
    what: "Collections with at least 16 slots, less than a quarter of them used.",
  },
  "sparse-arrays": {
    title: "Sparse arrays",
    what: "Arrays with at least 16 elements, over three quarters of them null.",
  },
  "hash-collisions": {
    title: "Hash collisions",
    what: "Maps with more than two entries per used bucket, which makes them slow.",
  },
  "null-fields": { title: "Null fields", what: "Classes with at least 75 % of their reference fields null." },
};

export function kindTitle(kind: WasteKind): string {
  return KINDS[kind].title;
}

export function kindExplained(kind: WasteKind): string {
  return KINDS[kind].what;
}
