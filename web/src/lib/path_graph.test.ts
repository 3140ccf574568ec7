import { expect, test } from "vitest";
import type { Branch, MergedPaths } from "../api/types";
import { pathGraph } from "./path_graph";

const branch = (
  via: string,
  name: string,
  objects: number,
  children: Branch[] = [],
  more: Partial<Branch> = {},
): Branch => ({
  via,
  class: name,
  class_object: false,
  merged: 1,
  through: [],
  repeats: [],
  here: 0,
  objects,
  held: objects * 10,
  example: "0x10",
  skipped: 0,
  children,
  omitted: { branches: 0, objects: 0, held: 0 },
  ...more,
});

// Two static fields lead to maps whose nodes hold the same class.
const paths: MergedPaths = {
  target: "Product",
  objects: 100,
  retained: 1000,
  held: 1000,
  other_holders: 100,
  unreachable_objects: 0,
  led_to: [],
  omitted: { branches: 0, objects: 0, held: 0 },
  branches: [
    branch(
      "system class",
      "Cache",
      99,
      [
        branch("static ids", "Map", 60, [
          branch("table", "Node", 60, [branch("value", "Product", 60, [], { here: 60 })]),
        ]),
        branch("static names", "Map", 39, [
          branch("table", "Node", 39, [
            branch("next", "Node", 9, [branch("value", "Product", 9, [], { here: 9 })]),
            branch("value", "Product", 30, [], { here: 30 }),
          ]),
        ]),
      ],
      { class_object: true },
    ),
    branch("thread", "Thread", 1, [branch("local", "Product", 1, [], { here: 1 })]),
  ],
};

test("there is one node for each class, and objects count once", () => {
  const graph = pathGraph(paths, 5);
  const objects = Object.fromEntries(graph.nodes.map((node) => [node.id, node.objects]));
  expect(objects).toEqual({ "root system class": 99, "class Cache": 99, Map: 99, Node: 99, Product: 99 });
  expect(graph.nodes.find((node) => node.id === "Product")).toMatchObject({ kind: "target", here: 99 });
  expect(graph.hidden).toBe(1);
});

test("fields between two classes are one edge", () => {
  const graph = pathGraph(paths, 5);
  const edge = (from: string, to: string) => graph.edges.find((one) => one.from === from && one.to === to);
  expect(edge("class Cache", "Map")).toMatchObject({ fields: ["static ids", "static names"], objects: 99 });
  expect(edge("Node", "Node")).toMatchObject({ fields: ["next"], objects: 9 });
});

test("nothing is hidden if nothing is to be", () => {
  expect(pathGraph(paths, 0).nodes.map((node) => node.id)).toContain("Thread");
});
