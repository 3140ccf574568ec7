import { expect, test } from "vitest";
import type { Layers, Timeline } from "../../api/types";
import { nearest, shortened, stack } from "./series";

const timeline = {
  states: [
    { time: 5, objects: 9, bytes: 90, reachable_objects: 8, reachable_bytes: 80 },
    { time: 7, objects: 9, bytes: 95, reachable_objects: null, reachable_bytes: null },
    { time: 9, objects: 9, bytes: 99, reachable_objects: 9, reachable_bytes: 99 },
  ],
} as unknown as Timeline;

const split: Layers = {
  by: "kind",
  states: [0, 2],
  rows: [{ key: "array", objects: [1, 2], bytes: [60, 70] }],
  others: { rows: 2, objects: [7, 7], bytes: [20, 29] },
};

test("layers stand at the states that were looked into, the rest is one", () => {
  expect(stack(timeline, split, "bytes")).toEqual({
    times: [5, 9],
    layers: [
      { name: "array", values: [60, 70] },
      { name: "2 others", values: [20, 29] },
    ],
  });
});

test("a heap that nobody has split is one layer", () => {
  expect(stack(timeline, undefined, "bytes").layers).toEqual([{ name: "heap", values: [80, 95, 99] }]);
  expect(stack(timeline, undefined, "objects").layers).toEqual([{ name: "heap", values: [8, 9, 9] }]);
});

test("of long names the end is shown", () => {
  expect(shortened("static field > com.acme.Cache > entries", 60)).toBe(
    "static field > com.acme.Cache > entries",
  );
  expect(shortened("static field > com.acme.Cache > entries", 26)).toBe("… > com.acme.Cache > entries");
  expect(shortened("static field > com.acme.Cache > entries", 3)).toBe("… > entries");
});

test("a click chooses the nearest state", () => {
  expect(nearest([0, 10, 100], 54)).toBe(1);
  expect(nearest([0, 10, 100], 56)).toBe(2);
});
