import { expect, test } from "vitest";
import type { Layers, TimelineState } from "../../api/types";
import { nearest, shortened, stack } from "./series";

const state = (time: number, bytes: number, reachable: [number, number] | null): TimelineState => ({
  point: `#${time}`,
  time,
  gc: null,
  mark: null,
  pause: null,
  objects: 9,
  bytes,
  reachable_objects: reachable?.[0] ?? null,
  reachable_bytes: reachable?.[1] ?? null,
});
const states = [state(5, 90, [8, 80]), state(7, 95, null), state(9, 99, [9, 99])];

const split: Layers = {
  by: "kind",
  sort: "bytes",
  states: [0, 2],
  total: { objects: [8, 9], bytes: [80, 99] },
  rows: [{ key: "array", objects: [1, 2], bytes: [60, 70] }],
  others: { rows: 2, objects: [7, 7], bytes: [20, 29] },
};

test("layers stand at the states that were looked into, the rest is one", () => {
  expect(stack(states, split, "bytes")).toEqual({
    times: [5, 9],
    layers: [
      { name: "array", values: [60, 70] },
      { name: "2 others", values: [20, 29] },
    ],
  });
});

test("a heap that nobody has split is one layer", () => {
  expect(stack(states, undefined, "bytes").layers).toEqual([{ name: "heap", values: [80, 95, 99] }]);
  expect(stack(states, undefined, "objects").layers).toEqual([{ name: "heap", values: [8, 9, 9] }]);
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
