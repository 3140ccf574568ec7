import { expect, test } from "vitest";
import type { Line, Node } from "../../lib/tree.svelte";
import { MOST_NEIGHBOURS, referenceGraph } from "./graph";
import { readOpen, readTrail, type RefRow, writeOpen, writeTrail } from "./source";

test("an address has the unfolded rows and the trail", () => {
  const ids = ["start", "start\0table 0x10", "start\0table 0x10\0[3] 0x20"];
  expect(writeOpen(ids)).toBe("table 0x10|table 0x10~[3] 0x20");
  expect(readOpen(writeOpen(ids))).toEqual(ids.slice(1));
  expect(readOpen(undefined)).toEqual([]);
  const trail = [
    { group: "0x10", title: "HashMap" },
    { group: "com.acme.Order", title: "com.acme.Order" },
  ];
  expect(readTrail(writeTrail(trail))).toEqual(trail);
});

function node(address: string, via: string, parent: Node<RefRow> | null, position = 1): Node<RefRow> {
  const row = { address, via, label: `A @ ${address}`, objects: 1, retained: 8, root: null, start: !parent };
  const id = parent ? `${parent.id}\0${via} ${address}` : "start";
  return { id, row, parent, position, depth: 0, expanded: false } as unknown as Node<RefRow>;
}
const line = (of: Node<RefRow>): Line<RefRow> => ({
  kind: "row",
  id: of.id,
  depth: 0,
  node: of,
  expanded: false,
});

test("an object to which two references lead is one node of the graph", () => {
  const top = node("0x1", "", null);
  const [left, right] = [node("0x2", "left", top), node("0x3", "right", top, 2)];
  const shared = [node("0x4", "next", left), node("0x4", "next", right)];
  const lines = [top, left, shared[0]!, right, shared[1]!].map(line);
  const drawn = referenceGraph(lines, false);
  expect(drawn.nodes.map((one) => one.id)).toEqual(["0x1", "0x2", "0x4", "0x3"]);
  expect(drawn.edges.map((one) => [one.from, one.to])).toEqual([
    ["0x1", "0x2"],
    ["0x2", "0x4"],
    ["0x1", "0x3"],
    ["0x3", "0x4"],
  ]);
  // Arrows show which way references lead.
  expect(referenceGraph(lines, true).edges[0]).toMatchObject({ from: "0x2", to: "0x1" });
});

test("a graph has the first neighbours of a node and tells how many more there are", () => {
  const top = node("0x1", "", null);
  const many = Array.from({ length: MOST_NEIGHBOURS + 3 }, (_, i) =>
    node(`0x${i + 10}`, `[${i}]`, top, i + 1),
  );
  const drawn = referenceGraph([top, ...many].map(line), false);
  expect(drawn.nodes).toHaveLength(1 + MOST_NEIGHBOURS);
  expect(drawn.hidden).toBe(3);
});
