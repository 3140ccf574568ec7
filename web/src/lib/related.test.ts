import { expect, test } from "vitest";
import { common, programClasses, unrelated } from "./related";

const SHOP = ["shop.Product", "shop.Order", "shop.Cart", "java.lang.String", "byte[]", "shop.Product[]"];
const NEWER_SHOP = ["shop.Product", "shop.Order", "shop.Invoice", "java.util.HashMap"];
const DATABASE = ["org.h2.engine.Database", "org.h2.value.Value", "java.lang.String"];

test("classes of the JDK, arrays and generated classes say nothing about a program", () => {
  expect([...programClasses([...SHOP, "a.B$$Lambda/0x123", "int[]"])]).toEqual([
    "shop.Product",
    "shop.Order",
    "shop.Cart",
  ]);
});

test("versions of one program are related, different programs are not", () => {
  const programs = [SHOP, NEWER_SHOP, DATABASE].map(programClasses);
  expect(common(programs[0]!, programs[1]!)).toBeCloseTo(2 / 3);
  expect(unrelated(programs)).toEqual([2]);
  expect(unrelated([programs[0]!, new Set()])).toEqual([]);
});
