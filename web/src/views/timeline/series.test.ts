import { expect, test } from "vitest";
import type { Timeline } from "../../api/types";
import { layers, nearest, packageOf } from "./series";

const timeline = {
  states: [{}, {}],
  types: [
    { type: "byte[]", bytes: [10, 20], objects: [1, 2] },
    { type: "java.util.HashMap", bytes: [5, 5], objects: [1, 1] },
    { type: "java.util.ArrayList[]", bytes: [3, 40], objects: [1, 1] },
    { type: "Main", bytes: [1, 1], objects: [9, 9] },
  ],
} as unknown as Timeline;

test("the largest at any moment are layers, the rest is one", () => {
  expect(layers(timeline, "bytes", "type", 2)).toEqual([
    { name: "java.util.ArrayList[]", values: [3, 40] },
    { name: "byte[]", values: [10, 20] },
    { name: "2 others", values: [6, 6] },
  ]);
});

test("types of a package are added up", () => {
  expect(layers(timeline, "objects", "package", 9)).toContainEqual({ name: "java.util", values: [2, 2] });
  expect(packageOf("int[][]")).toBe("(arrays of primitives)");
  expect(packageOf("Main[]")).toBe("(unnamed package)");
});

test("a click chooses the nearest state", () => {
  expect(nearest([0, 10, 100], 54)).toBe(1);
  expect(nearest([0, 10, 100], 56)).toBe(2);
});
