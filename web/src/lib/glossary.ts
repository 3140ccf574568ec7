// What the words mean, in a sentence or two, shown where they are used.

export const GLOSSARY = {
  objects: "The number of objects in the row.",
  shallow:
    "Shallow size: the bytes of the objects themselves, as the JVM lays them out, without anything they refer to.",
  deep: "Deep size: everything that the objects reach through references, themselves included. Shared objects count in every row that reaches them, so deep sizes overlap.",
  retained:
    "Retained size: everything that would be freed if these objects were gone, themselves included. It is exact for the row as a whole and includes objects that several of them keep alive only together.",
  allocations:
    "Estimates from sampled allocations: each sample stands for the bytes allocated around it. Survived: allocated in the window and still alive in the chosen state.",
  hgp: "Heap growth portion: how much the retained size of the structure grew, as a percentage of the growth of the whole heap. A leak has a high portion.",
  reachable: "Objects that the GC roots keep alive. All percentages are relative to the reachable heap.",
  unreachable:
    "Objects in the file that no GC root keeps alive. The next garbage collection could free them.",
  dominator:
    "An object dominates another one if every path from the GC roots to the other one passes through it: it alone keeps the other one alive.",
  front:
    "Owner front: a smallest set of objects that together keep the group alive. The group would be freed only if all of them were gone.",
  covered: "The share of the group's bytes that would be freed with these owners.",
  estimated:
    "The bytes that the allocation samples in the row stand for. They estimate the size of all objects better than the sampled objects alone.",
  savable: "Bytes that you could save without losing anything the program needs.",
  path: "The shortest path from a GC root to the objects. The objects stay alive as long as any path leads to them.",
  suspect:
    "One object, several objects together, a class loader, or all objects of a class that keep a large share of the reachable heap alive.",
  fill: "The number of elements as a percentage of the capacity.",
  wasted: "Unused bytes of the structure: empty slots, oversized tables.",
  evolution:
    "Born: only in the later state. Died: only in the earlier one. Survived: in both. Only objects that the recording follows can be distinguished.",
  leakWindow:
    "The longest period up to the end in which the heap keeps growing in spite of dips: a good place to look for growth.",
  gcClosure: "GC closure: everything that would be freed with the group. Its size is the retained size.",
  transitiveClosure: "Transitive closure: everything that the group reaches. Its size is the deep size.",
  kept: "The memory that would be freed without the thread and its local variables. Objects that something else also holds do not count.",
  where: 'Classify only objects that meet this condition, for example: size > 1K && type ~ "java.*"',
  cut: "Shows what would be freed without the references from objects of one class to objects of the other: the gain of a fix there. Objects that something else also holds would stay.",
  held: "The retained size of the objects at the end of these paths, each counted once.",
} as const;

export type Term = keyof typeof GLOSSARY;
