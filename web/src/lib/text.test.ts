import { expect, test } from "vitest";
import { cut, splitLabel, splitName, visible } from "./text";

test("what changes the direction of a line is shown by its code", () => {
  expect(visible("a\u202Eb\u0000c\nd")).toBe("a\\u202eb\\u0000c⏎d");
  expect(visible("ʼäöü שלום")).toBe("ʼäöü שלום");
});

test("a pair is never cut in half", () => {
  expect(cut("ab😀cd", 3)).toBe("ab");
  expect(cut("ab😀cd", 4)).toBe("ab😀");
  expect(cut("abc", 3)).toBe("abc");
});

test("names are split before the simple name", () => {
  expect(splitName("java.util.HashMap$Node[]")).toEqual({ prefix: "java.util.", simple: "HashMap$Node[]" });
  expect(splitName("byte[]")).toEqual({ prefix: "", simple: "byte[]" });
  expect(splitName("com.acme.Main$$Lambda/0x0001.2")).toEqual({
    prefix: "com.acme.",
    simple: "Main$$Lambda/0x0001.2",
  });
});

test("labels are taken apart", () => {
  expect(splitLabel("java.util.HashMap @ 0xe08ce7c0")).toEqual({
    lead: "",
    prefix: "java.util.",
    simple: "HashMap",
    rest: "",
    address: "0xe08ce7c0",
  });
  expect(splitLabel('java.lang.String "a.b c" @ 0x10')).toMatchObject({
    simple: "String",
    rest: ' "a.b c"',
    address: "0x10",
  });
  expect(splitLabel("56,950 × Stress$Ent")).toMatchObject({ lead: "56,950 × ", simple: "Stress$Ent" });
  expect(splitLabel("← java.lang.String")).toMatchObject({
    lead: "← ",
    prefix: "java.lang.",
    simple: "String",
  });
  expect(splitLabel("<script>alert(1)</script>")).toMatchObject({
    prefix: "",
    simple: "<script>alert(1)</script>",
  });
});

test("plain words are not taken for a class and its contents", () => {
  for (const label of ["static field", "JNI global", "static field > com.acme.Cache > entries"]) {
    expect(splitLabel(label)).toEqual({ lead: "", prefix: "", simple: label, rest: "", address: "" });
  }
});

test("the loader after a class is no part of its name", () => {
  expect(splitName("shop.Catalog (loader org.apache.Loader @ 0x10)")).toEqual({
    prefix: "shop.",
    simple: "Catalog (loader org.apache.Loader @ 0x10)",
  });
});
