import { expect, test } from "vitest";
import type { HeapObject, Value } from "../api/types";
import { readCollection } from "./collections";

const to = (address: string): Value => ({ object: { address, class: "", label: address, retained: 0 } });
const number = (n: number): Value => ({ value: String(n) });

function object(
  address: string,
  name: string,
  fields: Record<string, Value>,
  elements?: Value[],
): HeapObject {
  return {
    address,
    class: name,
    label: address,
    loader: "boot",
    shallow: 0,
    retained: 0,
    reachable: true,
    roots: [],
    dominators: { total: 0, first: [] },
    fields: Object.entries(fields).map(([field, value]) => ({ name: field, declared_by: name, ...value })),
    static_fields: [],
    elements: elements && {
      total: elements.length,
      first: elements.map((value, index) => ({ index, ...value })),
    },
    referrers: { total: 0, first: [] },
  };
}

function heap(...objects: HeapObject[]) {
  const known = new Map(objects.map((one) => [one.address, one]));
  return async (address: string) => known.get(address)!;
}
const none: Value = { null: null };
const unknown: Value = { not_recorded: null };
function shown(value: Value | undefined): string | null {
  if (!value) return null;
  return "object" in value ? value.object.address : "value" in value ? value.value : null;
}

test("a list shows its elements without the room behind them", async () => {
  const list = object("1", "java.util.ArrayList", { size: number(2), elementData: to("2") });
  const read = await readCollection(
    list,
    heap(object("2", "java.lang.Object[]", {}, [to("a"), none, none])),
    50,
  );
  expect(read).toMatchObject({ kind: "list", size: 2, more: false });
  expect(read?.entries.map((entry) => shown(entry.value))).toEqual(["a", null]);
});

test("a map follows its chains, and stops where enough is shown", async () => {
  const map = object("1", "java.util.HashMap", { size: number(3), table: to("t") });
  const fetch = heap(
    object("t", "java.util.HashMap$Node[]", {}, [none, to("n1"), to("n3")]),
    object("n1", "java.util.HashMap$Node", { key: to("k1"), value: to("v1"), next: to("n2") }),
    object("n2", "java.util.HashMap$Node", { key: none, value: none, next: none }),
    object("n3", "java.util.HashMap$Node", { key: to("k3"), value: to("v3"), next: none }),
  );
  const all = await readCollection(map, fetch, 50);
  expect(all?.entries.map(({ key, value }) => [shown(key), shown(value)])).toEqual([
    ["k1", "v1"],
    [null, null],
    ["k3", "v3"],
  ]);
  expect(all?.more).toBe(false);
  expect(await readCollection(map, fetch, 2)).toMatchObject({ more: true, entries: { length: 2 } });
});

test("a set is the keys of its map, a tree map comes in order", async () => {
  const fetch = heap(
    object("m", "java.util.TreeMap", { size: number(3), root: to("b") }),
    object("a", "java.util.TreeMap$Entry", { key: to("ka"), value: none, left: none, right: none }),
    object("b", "java.util.TreeMap$Entry", { key: to("kb"), value: none, left: to("a"), right: to("c") }),
    object("c", "java.util.TreeMap$Entry", { key: to("kc"), value: none, left: none, right: none }),
  );
  const read = await readCollection(object("s", "java.util.TreeSet", { m: to("m") }), fetch, 50);
  expect(read).toMatchObject({ kind: "set", size: 3 });
  expect(read?.entries.map((entry) => shown(entry.value))).toEqual(["ka", "kb", "kc"]);
});

test("a ring buffer starts at its head", async () => {
  const deque = object("1", "java.util.ArrayDeque", { head: number(2), tail: number(1), elements: to("e") });
  const read = await readCollection(
    deque,
    heap(object("e", "java.lang.Object[]", {}, [to("c"), none, to("a"), to("b")])),
    50,
  );
  expect(read?.entries.map((entry) => shown(entry.value))).toEqual(["a", "b", "c"]);
});

test("without recorded contents, nobody knows where a list ends", async () => {
  const room = object("e", "java.lang.Object[]", {}, [to("a"), none, none]);
  const list = object("1", "java.util.ArrayList", { size: unknown, elementData: to("e") });
  expect(await readCollection(list, heap(room), 50)).toBeNull();
  const deque = object("2", "java.util.ArrayDeque", { head: unknown, tail: unknown, elements: to("e") });
  expect(await readCollection(deque, heap(room), 50)).toBeNull();
  const view = object("3", "java.util.Arrays$ArrayList", { a: to("e") });
  expect(await readCollection(view, heap(room), 50)).toMatchObject({ size: 3 });
});

test("what is no collection is read as none", async () => {
  expect(await readCollection(object("1", "com.acme.Order", {}), heap(), 50)).toBeNull();
});
