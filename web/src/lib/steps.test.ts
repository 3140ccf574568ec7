import { expect, test } from "vitest";
import { isExpression, joinSteps, locate, move, splitSteps } from "./steps";

test("steps are split between brackets, quotes and braces only", () => {
  expect(splitSteps("type, pointed-from,type")).toEqual(["type", "pointed-from", "type"]);
  expect(
    splitSteps('path(package, simple_name), where type ~ "a,\\",b", { let a = 1; return f(a, 2); }'),
  ).toEqual(["path(package, simple_name)", 'where type ~ "a,\\",b"', "{ let a = 1; return f(a, 2); }"]);
  expect(splitSteps(" ")).toEqual([]);
});

test("a mistake is found in its step", () => {
  const steps = ["type", "where lenght > 3", "{\n  oops\n}"];
  expect(joinSteps(steps).slice(12, 18)).toBe("lenght");
  expect(locate(steps, 1, 13)).toEqual({ step: 1, line: 1, column: 7 });
  expect(locate(steps, 2, 3)).toEqual({ step: 2, line: 2, column: 3 });
  expect(locate(steps, 9, 1)).toBeNull();
});

test("names are not expressions", () => {
  expect(isExpression("pointed-from")).toBe(false);
  expect(isExpression('field("state")')).toBe(false);
  expect(isExpression("length > 3")).toBe(true);
});

test("a step is moved, and not out of the list", () => {
  expect(move(["a", "b", "c"], 0, 1)).toEqual(["b", "a", "c"]);
  expect(move(["a", "b", "c"], 2, 9)).toEqual(["a", "b", "c"]);
  expect(move(["a", "b", "c"], 1, -1)).toEqual(["b", "a", "c"]);
});
