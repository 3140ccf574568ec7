import { expect, test } from "vitest";
import type { Layers, Timeline, TimelineState } from "../../api/types";
import { highest, markers, nearest, shortened, stack } from "./series";

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

test("what happened is told in order, the end of memory as such", () => {
  const gc = { number: 1, collector: "G1", cause: "System.gc()", start_ns: 8, end_ns: 2_000_008 };
  const used = { used_before: 4096, used_after: 1024, committed: null };
  const timeline = {
    marks: [{ time_ns: 7, text: "deploy" }],
    violations: [{ time_ns: 6, kind: "dead", class: "shop.Cart" }],
    gcs: [
      { ...gc, ...used, full: true },
      { ...gc, ...used, full: false },
    ],
    states: [
      { ...state(9, 1, null), mark: "out of memory" },
      { ...state(7, 1, null), mark: "deploy" },
      { ...state(5, 1, null), mark: "before" },
      state(4, 1, null),
    ],
  } as unknown as Timeline;
  expect(markers(timeline)).toEqual([
    { time: 5, kind: "mark", text: "before" },
    { time: 6, kind: "violation", text: "dead · shop.Cart" },
    { time: 7, kind: "mark", text: "deploy" },
    { time: 8, kind: "full collection", text: "System.gc(), 2.0 ms, 4.0 KB → 1.0 KB" },
    { time: 9, kind: "out of memory", text: "OutOfMemoryError" },
  ]);
});

test("an axis is as high as what is in sight", () => {
  const points: [number, number][] = [
    [0, 50],
    [10, 5],
    [20, 7],
    [30, 40],
    [40, 90],
  ];
  expect(highest(points, 12, 18)).toBe(7);
  expect(highest(points, 5, 25)).toBe(50);
  expect(highest(points, 20, 30)).toBe(90);
  expect(highest(points, 50, 60)).toBe(90);
  expect(highest([], 0, 1)).toBe(0);
});
