import { expect, test } from "vitest";
import type { Value } from "../../api/types";
import { brief, text } from "./elements";

const object = (label: string): Value => ({
  object: { label, address: "0x10", class: label.split(" ")[0]!, retained: 16 },
});

test("strings and numbers among elements are shown as themselves", () => {
  expect(brief(object('java.lang.String "a @ 0x1 b" @ 0x10'))).toEqual({ value: '"a @ 0x1 b"' });
  expect(brief(object("java.lang.Integer 42 @ 0x10"))).toEqual({ value: "42" });
  expect(brief(object("com.acme.Order @ 0x10"))).toEqual(object("com.acme.Order @ 0x10"));
  expect(brief({ value: "7" })).toEqual({ value: "7" });
});

test("values are copied in words", () => {
  expect(text(object("com.acme.Order @ 0x10"))).toBe("com.acme.Order @ 0x10");
  expect(text({ dangling: "0x99" })).toBe("0x99");
  expect(text({ null: null })).toBeNull();
});
