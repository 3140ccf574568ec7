// Reads the collections of the JDK as what they mean: lists of elements, maps of entries. Knows their fields, asks for
// the objects behind them one by one, and stops where enough is shown.

import type { HeapObject, Value } from "../api/types";

export interface Entry {
  key?: Value;
  value: Value;
}

export interface Contents {
  kind: "list" | "map" | "set";
  /** How many there are, as the collection itself says. */
  size: number | null;
  entries: Entry[];
  /** Whether there are more than these. */
  more: boolean;
}

export type Fetch = (address: string, limit: number) => Promise<HeapObject>;

type Reader = (head: HeapObject, fetch: Fetch, most: number) => Promise<Contents | null>;

const NULL: Value = { null: null };

function field(object: HeapObject, ...names: string[]): Value | undefined {
  for (const name of names) {
    const found = object.fields.find((one) => one.name === name);
    if (found) return found;
  }
  return undefined;
}

function number(object: HeapObject, ...names: string[]): number | null {
  const found = field(object, ...names);
  const value = found && "value" in found ? Number(found.value) : NaN;
  return Number.isFinite(value) ? value : null;
}

function target(value: Value | undefined): string | null {
  return value && "object" in value ? value.object.address : null;
}

async function follow(
  head: HeapObject,
  fetch: Fetch,
  most: number,
  ...names: string[]
): Promise<HeapObject | null> {
  const address = target(field(head, ...names));
  return address ? fetch(address, most) : null;
}

/** An array of elements, of which the first `size` count. */
function array(...names: string[]): Reader {
  return async (head, fetch, most) => {
    const size = number(head, "size", "elementCount");
    // A recording without contents does not tell where the elements end.
    if (size === null && field(head, "size", "elementCount")) return null;
    const holder = await follow(head, fetch, most, ...names);
    if (!holder?.elements) return { kind: "list", size: size ?? 0, entries: [], more: false };
    const used = size ?? holder.elements.total;
    const first = holder.elements.first.slice(0, Math.min(used, most));
    return {
      kind: "list",
      size: used,
      entries: first.map((value) => ({ value })),
      more: used > first.length,
    };
  };
}

/** A ring buffer from `head` to `tail`. */
const deque: Reader = async (head, fetch) => {
  const start = number(head, "head");
  const end = number(head, "tail");
  if (start === null || end === null) return null;
  const buffer = await follow(head, fetch, 4096, "elements");
  if (!buffer?.elements) return null;
  const room = buffer.elements.total;
  const size = (end - start + room) % Math.max(1, room);
  const slots = new Map(buffer.elements.first.map((value) => [value.index, value]));
  const entries: Entry[] = [];
  for (let i = 0; i < size; i++) {
    const value = slots.get((start + i) % room);
    if (!value) break;
    entries.push({ value });
  }
  return { kind: "list", size, entries, more: size > entries.length };
};

/** A table of chains: HashMap, Hashtable, ConcurrentHashMap. */
const hashTable: Reader = async (head, fetch, most) => {
  const size = number(head, "size", "count", "baseCount");
  const table = await follow(head, fetch, 4096, "table");
  const used = (table?.elements?.first ?? []).flatMap((slot) => target(slot) ?? []);
  // One entry of a slot after the other, all slots at once.
  const chains = await Promise.all(used.slice(0, most).map((first) => chain(first, fetch, most)));
  const entries = chains.flat().slice(0, most);
  return { kind: "map", size, entries, more: size === null || size > entries.length };
};

async function chain(first: string, fetch: Fetch, most: number): Promise<Entry[]> {
  const entries: Entry[] = [];
  for (let next: string | null = first; next && entries.length < most;) {
    const node: HeapObject = await fetch(next, 1);
    if (!field(node, "key")) break;
    entries.push({ key: field(node, "key") ?? NULL, value: field(node, "val", "value") ?? NULL });
    next = target(field(node, "next"));
  }
  return entries;
}

/** A chain of entries in the order they came: LinkedHashMap. */
const linkedMap: Reader = async (head, fetch, most) => {
  const entries: Entry[] = [];
  let next = target(field(head, "head"));
  while (next && entries.length < most) {
    const node: HeapObject = await fetch(next, 1);
    entries.push({ key: field(node, "key") ?? NULL, value: field(node, "value") ?? NULL });
    next = target(field(node, "after"));
  }
  const size = number(head, "size");
  return { kind: "map", size, entries, more: next !== null };
};

const linkedList: Reader = async (head, fetch, most) => {
  const entries: Entry[] = [];
  let next = target(field(head, "first"));
  while (next && entries.length < most) {
    const node: HeapObject = await fetch(next, 1);
    entries.push({ value: field(node, "item") ?? NULL });
    next = target(field(node, "next"));
  }
  return { kind: "list", size: number(head, "size"), entries, more: next !== null };
};

/** A search tree, the smallest key first. */
const treeMap: Reader = async (head, fetch, most) => {
  const entries: Entry[] = [];
  const above: HeapObject[] = [];
  let next = target(field(head, "root"));
  while ((next || above.length) && entries.length < most) {
    while (next) {
      const node: HeapObject = await fetch(next, 1);
      above.push(node);
      next = target(field(node, "left"));
    }
    const node = above.pop()!;
    entries.push({ key: field(node, "key") ?? NULL, value: field(node, "value") ?? NULL });
    next = target(field(node, "right"));
  }
  const size = number(head, "size");
  return { kind: "map", size, entries, more: size !== null && size > entries.length };
};

/** A set that is the keys of a map. */
function setOf(...names: string[]): Reader {
  return async (head, fetch, most) => {
    const map = await follow(head, fetch, 1, ...names);
    const inner = map && (await readCollection(map, fetch, most));
    if (!inner) return null;
    return { ...inner, kind: "set", entries: inner.entries.map(({ key }) => ({ value: key ?? NULL })) };
  };
}

const READERS: Record<string, Reader> = {
  "java.util.ArrayList": array("elementData"),
  "java.util.Vector": array("elementData"),
  "java.util.Stack": array("elementData"),
  "java.util.concurrent.CopyOnWriteArrayList": array("array"),
  "java.util.Arrays$ArrayList": array("a"),
  "java.util.ImmutableCollections$ListN": array("elements"),
  "java.util.PriorityQueue": array("queue"),
  "java.util.ArrayDeque": deque,
  "java.util.LinkedList": linkedList,
  "java.util.HashMap": hashTable,
  "java.util.Hashtable": hashTable,
  "java.util.Properties": hashTable,
  "java.util.concurrent.ConcurrentHashMap": hashTable,
  "java.util.LinkedHashMap": linkedMap,
  "java.util.TreeMap": treeMap,
  "java.util.HashSet": setOf("map"),
  "java.util.LinkedHashSet": setOf("map"),
  "java.util.TreeSet": setOf("m"),
};

export function isCollection(className: string): boolean {
  return className in READERS;
}

/** What a collection contains, or null if it is none or its fields are not there. */
export async function readCollection(head: HeapObject, fetch: Fetch, most: number): Promise<Contents | null> {
  const reader = READERS[head.class];
  return reader ? reader(head, fetch, most) : null;
}
