import { expect, test } from "vitest";
import { fittingClasses } from "./classes";

const CLASSES = [
  { name: "java.util.HashMap", objects: 10 },
  { name: "java.util.HashMap$Node", objects: 900 },
  { name: "java.util.concurrent.ConcurrentHashMap", objects: 5000 },
  { name: "shop.Product", objects: 20 },
];

test("the class itself comes first, then those that begin so, then the rest", () => {
  expect(fittingClasses(CLASSES, "hashmap", 5).map((one) => one.name)).toEqual([
    "java.util.HashMap",
    "java.util.HashMap$Node",
    "java.util.concurrent.ConcurrentHashMap",
  ]);
  expect(fittingClasses(CLASSES, "shop.", 5)).toEqual([{ name: "shop.Product", objects: 20 }]);
  expect(fittingClasses(CLASSES, "java", 1)).toHaveLength(1);
  expect(fittingClasses(CLASSES, " ", 5)).toEqual([]);
});
