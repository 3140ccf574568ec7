import { expect, test } from "vitest";
import { deepSays } from "./deep";

test("deep sizes say something where parts are shared, and not where everything is reached", () => {
  expect(deepSays([{ deep: 100, retained: 100 }], 1000)).toBe(false);
  expect(deepSays([{ deep: 990, retained: 100 }], 1000)).toBe(false);
  expect(
    deepSays(
      [
        { deep: 990, retained: 100 },
        { deep: 300, retained: 100 },
      ],
      1000,
    ),
  ).toBe(true);
  expect(deepSays([{ deep: null, retained: null }, {}], 1000)).toBe(false);
  expect(deepSays([], 0)).toBe(false);
});
