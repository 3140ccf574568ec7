import { expect, test } from "vitest";
import { noteOn, subjectOf, wayTo } from "./subjects";

const place = (view: string, params: Record<string, string> = {}) => ({ source: "0", view, params });

test("a page is about an object, a group or what a view shows", () => {
  expect(subjectOf(place("object", { address: "0x10", at: "#3" }))).toMatchObject({
    kind: "object",
    about: "0x10",
  });
  expect(subjectOf(place("group", { g: "all()", tab: "paths" }))).toMatchObject({
    kind: "group",
    about: "all()",
  });
  expect(subjectOf(place("group"))).toMatchObject({ kind: "view", about: "group" });
  expect(subjectOf(place("heap", { by: "type, size", at: "#3", keep: "weak", search: "" }))).toEqual({
    kind: "view",
    about: "heap?by=type%2C+size",
    label: "Heap state: by type, size",
  });
});

test("a note leads back to what it is about", () => {
  for (const shown of [
    place("object", { address: "0x10" }),
    place("group", { g: 'class("a b")' }),
    place("heap", { by: "type, size", where: "a & b" }),
    place("waste"),
  ]) {
    const { view, params } = wayTo(subjectOf(shown));
    expect({ source: "0", view, params }).toEqual(shown);
  }
  expect(wayTo({ kind: "suspect", about: "0123", label: "" })).toEqual({ view: "start", params: {} });
});

test("a note is found by its subject", () => {
  const note = { kind: "group" as const, about: "x", label: "x", text: "", written_ms: 1 };
  expect(noteOn([note], { kind: "group", about: "x", label: "other" })).toBe(note);
  expect(noteOn([note], { kind: "suspect", about: "x", label: "" })).toBeUndefined();
});
