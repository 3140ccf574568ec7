import { expect, test } from "vitest";
import type { AllocationNode } from "../../api/types";
import { CHANGE } from "../../lib/colours";
import { packagesOf } from "../../lib/packages";
import { changeColour, figures, flame, nameOf, packageOfNode, shortOf } from "./flame";

const node = (
  kind: AllocationNode["kind"],
  of: string,
  figures: [allocated: number, survived: number, before: number, after: number],
  children: AllocationNode[] = [],
): AllocationNode => {
  const [name, method] = of.split("#");
  const [allocated, survived, before, after] = figures;
  return {
    kind,
    class: name || null,
    method: method ?? null,
    samples: 2,
    allocated,
    survived,
    before,
    after,
    children,
  };
};
const tree = node(
  "program",
  "",
  [100, 20, 30, 40],
  [
    node(
      "method",
      "shop.Main#main",
      [100, 20, 30, 40],
      [
        node("method", "shop.Shop#load", [70, 0, 30, 0], [node("objects", "byte[]", [70, 0, 30, 0])]),
        node(
          "method",
          "java.util.HashMap#resize",
          [30, 20, 0, 40],
          [node("objects", "java.util.HashMap$Node[]", [30, 20, 0, 40])],
        ),
      ],
    ),
  ],
);

test("calls and objects have the names of the JVM", () => {
  expect(nameOf(node("method", "java.util.HashMap#resize", [0, 0, 0, 0]))).toBe("java.util.HashMap.resize");
  expect(shortOf(node("method", "java.util.HashMap#resize", [0, 0, 0, 0]))).toBe("HashMap.resize");
  expect(shortOf(node("objects", "java.util.HashMap$Node[]", [0, 0, 0, 0]))).toBe("HashMap$Node[]");
  expect(nameOf(node("unknown", "", [0, 0, 0, 0]))).toBe("(stack not recorded)");
});

test("what nothing survived of is not in the graph of survivors, what died is in that of changes", () => {
  const shown = (measure: "survived" | "change") =>
    flame(tree, measure).children[0]!.children.map((part) => [part.name, part.value]);
  expect(shown("survived")).toEqual([["java.util.HashMap.resize", 20]]);
  expect(shown("change")).toEqual([
    ["java.util.HashMap.resize", 40],
    ["shop.Shop.load", 30],
  ]);
});

test("colours are those of packages", () => {
  const { colours } = packagesOf(flame(tree, "allocated"), (part) => packageOfNode(part.item));
  expect([...colours.keys()]).toEqual(["shop", "primitive arrays", "java.util"]);
});

test("colours of a comparison say whether there is more or less", () => {
  expect(changeColour(node("objects", "A", [0, 0, 0, 10]))).toBe(CHANGE[4]);
  expect(changeColour(node("objects", "A", [0, 0, 9, 10]))).toBe(CHANGE[3]);
  expect(changeColour(node("objects", "A", [0, 0, 10, 10]))).toBe(CHANGE[2]);
  expect(changeColour(node("objects", "A", [0, 0, 10, 9]))).toBe(CHANGE[1]);
  expect(changeColour(node("objects", "A", [0, 0, 10, 0]))).toBe(CHANGE[0]);
});

test("figures are told in words", () => {
  expect(figures(tree.children![0]!.children![1]!, tree, "allocated")).toBe(
    "30 B allocated, 20 B survived · 30.0% of all · 2 samples",
  );
  expect(figures(tree.children![0]!.children![0]!, tree, "change")).toBe("30 B → 0 B (−30 B)");
});
