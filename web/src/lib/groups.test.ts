import { expect, test } from "vitest";
import { classGroup, nodeGroup, union } from "./groups";

test("plain names stand for themselves, others are put in quotes", () => {
  expect(classGroup("java.util.HashMap$Node[]")).toBe("java.util.HashMap$Node[]");
  expect(classGroup('a-b "c"')).toBe('class("a-b \\"c\\"")');
  expect(classGroup("roots")).toBe('class("roots")');
});

test("rows of a tree are written with their steps and what the tree is of", () => {
  expect(nodeGroup("type", ["byte[]"], {})).toBe("byte[]");
  expect(nodeGroup("type", [], {})).toBe("all()");
  expect(nodeGroup("type, pointed-from, type", ["byte[]", "← java.lang.String"], {})).toBe(
    'node("type, pointed-from, type", "byte[] > ← java.lang.String")',
  );
  expect(nodeGroup("type", ["byte[]"], { group: "com.acme.*", where: "size > 1K" })).toBe(
    'node("type", "byte[]", (com.acme.*) & where(size > 1K))',
  );
});

test("keys that look like two are not written", () => {
  expect(nodeGroup("text", ["a > b"], {})).toBeNull();
});

test("several groups are one", () => {
  expect(union(["0x10", "byte[]"])).toBe("0x10 | byte[]");
});
