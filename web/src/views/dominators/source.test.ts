import { expect, test } from "vitest";
import type { DominatorItem } from "../../api/types";
import { descend } from "./source";

const item = (label: string, children: DominatorItem[] = []): DominatorItem => ({
  label,
  members: 1,
  objects: 2,
  retained: 10,
  children,
  omitted: { objects: 0, retained: 0 },
  deeper: 0,
});

test("items without an address are found by their labels", () => {
  const tree = item("all", [item("3 × A", [item("2 × B")]), item("4 × C")]);
  expect(descend(tree, ["3 × A", "2 × B"])?.label).toBe("2 × B");
  expect(descend(tree, ["3 × A", "gone"])).toBeUndefined();
  expect(descend(tree, [])?.label).toBe("all");
});
