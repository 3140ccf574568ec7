import { expect, test } from "vitest";
import { definitionsIn, groupDefinition, stepDefinition, withDefinition, without } from "./definitions";

const TEXT = `# Orders by customer.
# example: by-customer
classifier by-customer = field("customer")

filter big(n) = size > n
classifier held {
    let filter = 0;
    return filter;
}
group caches = A.a | B.b
`;

test("definitions are found with their comments", () => {
  const found = definitionsIn(TEXT);
  expect(found.map((one) => `${one.kind} ${one.name}`)).toEqual([
    "classifier by-customer",
    "filter big",
    "classifier held",
    "group caches",
  ]);
  expect(TEXT.slice(found[0]!.start, found[0]!.end)).toContain("# Orders by customer.");
  expect(TEXT.slice(found[2]!.start, found[2]!.end)).toContain("return filter;");
});

test("one is taken away, or put in the place of another", () => {
  expect(without(TEXT, "by-customer").startsWith("filter big(n)")).toBe(true);
  expect(without(TEXT, "nothing")).toBe(TEXT);
  const changed = withDefinition(TEXT, "group caches = C.c", "caches");
  expect(definitionsIn(changed).filter((one) => one.name === "caches")).toHaveLength(1);
  expect(changed.endsWith("group caches = C.c\n")).toBe(true);
  expect(withDefinition("", "group a = b", "a")).toBe("group a = b\n");
});

test("steps and groups become definitions", () => {
  expect(stepDefinition("big", "size > 1K")).toBe("classifier big = size > 1K");
  expect(stepDefinition("big", "where size > 1K")).toBe("filter big = size > 1K");
  expect(stepDefinition("next", "to references")).toBe("transformer next = references");
  expect(stepDefinition("n", "where { return true; }")).toBe("filter n { return true; }");
  expect(stepDefinition("t", "total > 3")).toBe("classifier t = total > 3");
  expect(groupDefinition("g", "a |\n  b")).toBe("group g = a | b");
});
