// What the words mean, in a sentence or two, shown where they are used.

export const GLOSSARY = {
  objects: "How many objects are in the row.",
  shallow:
    "Shallow size: the bytes of the objects themselves, as the JVM lays them out, without anything they refer to.",
  deep: "Deep size: all that the objects reach through references, themselves included. What others reach too is counted as well, so deep sizes of different rows overlap.",
  retained:
    "Retained size: all that would be freed if these objects were gone, themselves included. It is exact for the row as a whole: what several objects keep alive only together is counted.",
  hgp: "Heap growth portion: what the structure retains more at the end than at the beginning, in percent of the growth of the whole heap. A leak has a high one.",
  reachable: "Objects that a GC root leads to by references that keep alive. All shares are of these.",
  unreachable: "Objects in the file that nothing keeps alive. The next collection would free them.",
  dominator:
    "An object dominates another if all ways from the GC roots to it lead through the first one: it alone keeps the other alive.",
  front:
    "Owner front: a smallest set of objects that keep the group alive together. Without all of them, it would be freed; without some of them, it would not.",
  covered: "How much of the group's bytes would be freed with these owners.",
  estimated:
    "What the allocation samples in the row stand for. Where only samples are known, this says more than the sizes of the sampled objects.",
  savable: "Bytes that could be saved without losing anything the program needs.",
  path: "The shortest way from a GC root to the objects. They stay alive as long as one such way exists.",
  suspect:
    "Something that keeps a large share of the reachable heap alive: one object, several objects together, a class loader or all objects of a class.",
  fill: "Elements of the structure in percent of the room it has for them.",
  wasted: "Bytes of the structure that hold nothing: empty slots, tables that are too large.",
  evolution:
    "Born: only in the later state. Died: only in the earlier one. Survived: in both. Objects are told apart as far as the recording follows them.",
  leakWindow:
    "The longest stretch to the end in which the heap keeps growing in spite of dips: a good place to look for what grows.",
  gcClosure: "GC closure: all that would be freed with the group. Its bytes are the retained size.",
  transitiveClosure: "Transitive closure: all that the group reaches. Its bytes are the deep size.",
  kept: "What would be freed with the thread and all its local variables.",
  where: 'Only objects that fulfil this condition are classified, for instance: size > 1K && type ~ "java.*"',
  cut: "All references from the objects of the one class to those of the other are taken away: what a fix there would give back. Nothing is freed as long as something else leads to it.",
  held: "What the objects at the end of these paths retain, each counted once.",
} as const;

export type Term = keyof typeof GLOSSARY;
