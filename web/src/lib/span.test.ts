import { expect, test } from "vitest";
import { isWhole, moved, parseSpan, printSpan, zoomed } from "./span";

const whole = { from: 0, to: 100e9 };

test("what is under the pointer stays there", () => {
  const half = zoomed(whole, whole, 0.5, 20e9);
  expect(half).toEqual({ from: 10e9, to: 60e9 });
  expect(zoomed(half, whole, 2, 20e9)).toEqual(whole);
});

test("there is nothing beyond the ends", () => {
  expect(zoomed({ from: 80e9, to: 100e9 }, whole, 2, 100e9)).toEqual({ from: 60e9, to: 100e9 });
  expect(moved({ from: 10e9, to: 60e9 }, whole, 90e9)).toEqual({ from: 50e9, to: 100e9 });
  expect(moved({ from: 10e9, to: 60e9 }, whole, -90e9)).toEqual({ from: 0, to: 50e9 });
  expect(isWhole(zoomed({ from: 10e9, to: 60e9 }, whole, 9, 30e9), whole)).toBe(true);
});

test("a part never becomes too short to see", () => {
  let span = whole;
  for (let i = 0; i < 100; i++) span = zoomed(span, whole, 0.5, 30e9);
  expect(span.to - span.from).toBeCloseTo(0.05e9, -3);
});

test("an address has the part in seconds", () => {
  expect(printSpan({ from: 12.5e9, to: 40e9 }, whole)).toBe("12.5-40");
  expect(printSpan(whole, whole)).toBe("");
  expect(parseSpan("12.5-40", whole)).toEqual({ from: 12.5e9, to: 40e9 });
  for (const text of [undefined, "", "x-y", "40-12", "7"]) expect(parseSpan(text, whole)).toEqual(whole);
  expect(parseSpan("90-190", whole)).toEqual(whole);
});
