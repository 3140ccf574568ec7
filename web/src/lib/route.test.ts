import { expect, test } from "vitest";
import { oneOf, parse, print } from "./route.svelte";

test("an address says where it leads, whatever its parameters contain", () => {
  const place = {
    source: "2",
    view: "group",
    params: { g: 'node("type", "a?b#c > ← x&y=z")', tab: "paths" },
  };
  expect(parse(print(place))).toEqual(place);
});

test("an empty address is the start", () => {
  expect(parse("")).toEqual({ source: "", view: "start", params: {} });
  expect(parse("#/0")).toEqual({ source: "0", view: "start", params: {} });
});

test("empty parameters are dropped", () => {
  expect(print({ source: "0", view: "heap", params: { by: "type", where: "" } })).toBe("#/0/heap?by=type");
});

test("a choice that does not exist is the first one", () => {
  expect(oneOf("package", "class", "package")).toBe("package");
  expect(oneOf("colour", "class", "package")).toBe("class");
  expect(oneOf(undefined, "class", "package")).toBe("class");
});
