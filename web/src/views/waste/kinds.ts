// What the kinds of waste are called, and what to make of them.

const KINDS: Record<string, { title: string; what: string }> = {
  "duplicate-strings": {
    title: "Duplicate strings",
    what: "Strings of equal contents, without the first of each.",
  },
  "duplicate-arrays": {
    title: "Duplicate arrays",
    what: "Arrays of equal elements, without the first of each.",
  },
  "duplicate-boxes": {
    title: "Duplicate boxes",
    what: "Boxed numbers of the same value, without the first of each.",
  },
  "boxed-numbers": { title: "Boxed numbers", what: "All numbers that are objects, for information." },
  "empty-collections": {
    title: "Empty collections",
    what: "Collections without elements whose array has slots.",
  },
  "unused-collections": {
    title: "Unused collections",
    what: "Collections without elements and without an array.",
  },
  "sparse-collections": {
    title: "Sparse collections",
    what: "Less than a quarter of 16 slots or more is used.",
  },
  "sparse-arrays": {
    title: "Sparse arrays",
    what: "Arrays of 16 elements or more, over three quarters of them null.",
  },
  "hash-collisions": {
    title: "Hash collisions",
    what: "Maps with over two entries in a used bucket: they cost time.",
  },
  "null-fields": { title: "Null fields", what: "Classes whose reference fields are null to 75 % or more." },
};

export function kindTitle(kind: string): string {
  return KINDS[kind]?.title ?? kind;
}

export function kindExplained(kind: string): string {
  return KINDS[kind]?.what ?? "";
}
