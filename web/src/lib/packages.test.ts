import { expect, test } from "vitest";
import { textOn } from "./colours";
import { legend, packageOf } from "./packages";

test("classes are counted to packages as people know them", () => {
  expect(packageOf("java.util.concurrent.ConcurrentHashMap$Node[]")).toBe("java.util");
  expect(packageOf("java.lang.String")).toBe("java.lang");
  expect(packageOf("com.acme.shop.cart.Item")).toBe("com.acme.shop");
  expect(packageOf("org.h2.Driver")).toBe("org.h2");
  expect(packageOf("byte[]")).toBe("primitive arrays");
  expect(packageOf("long[][]")).toBe("primitive arrays");
  expect(packageOf("class java.lang.Thread")).toBe("java.lang");
  expect(packageOf("Main")).toBe("(default package)");
  expect(packageOf("com.acme.Shop$$Lambda/0x00000001000c1")).toBe("com.acme");
});

test("the packages that weigh most have colours, each its own", () => {
  const { colours, others } = legend(
    [
      ["a", 1],
      ["b", 5],
      ["a", 7],
      ["c", 2],
      ["d", 0],
    ],
    2,
  );
  expect([...colours.keys()]).toEqual(["a", "b"]);
  expect(new Set(colours.values()).size).toBe(2);
  expect(others).toBe(true);
  expect(legend([["a", 1]], 2).others).toBe(false);
});

test("text can be read on dark and on light colours", () => {
  expect(textOn("#2f6fb3")).toBe("#ffffff");
  expect(textOn("#d9a21b")).toBe("#1c1e22");
});
