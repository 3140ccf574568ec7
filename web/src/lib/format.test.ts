import { expect, test } from "vitest";
import { bytes, duration, percent, plural, signed, count } from "./format";

test("sizes are 1024-based and keep three digits", () => {
  expect(bytes(0)).toBe("0 B");
  expect(bytes(1023)).toBe("1023 B");
  expect(bytes(1024)).toBe("1.0 KB");
  expect(bytes(9_639_200)).toBe("9.2 MB");
  expect(bytes(150 * 1024)).toBe("150 KB");
  expect(bytes(1024 ** 3 - 1)).toBe("1.0 GB");
  expect(bytes(-2048)).toBe("−2.0 KB");
});

test("a share that is there is never shown as nothing", () => {
  expect(percent(0)).toBe("0%");
  expect(percent(0.01)).toBe("<0.1%");
  expect(percent(100)).toBe("100%");
});

test("durations are as long as they must be", () => {
  expect(duration(800_000)).toBe("800 µs");
  expect(duration(46_133_033)).toBe("46 ms");
  expect(duration(3_427_946_267)).toBe("3.4 s");
  expect(duration(150e9)).toBe("2m30s");
  expect(duration(3900e9)).toBe("1h05m");
});

test("changes carry their sign", () => {
  expect(signed(1200, count)).toBe("+1,200");
  expect(signed(-1200, count)).toBe("−1,200");
  expect(plural(1, "object")).toBe("1 object");
  expect(plural(2, "branch", "branches")).toBe("2 branches");
});
