import { expect, test } from "vitest";
import { AnswerCache, documentUrl, queryOf, sourceUrl } from "./client";

test("options become a query; what is not chosen is left out", () => {
  expect(
    queryOf({ by: "type, size", where: undefined, collapse: false, inside: true, later: [1, 2], text: "" }),
  ).toBe("?by=type%2C+size&inside=true&later=1&later=2&text=");
  expect(sourceUrl(3, "summary", {})).toBe("api/v1/sources/3/summary");
});

test("a document is asked for as the same report is", () => {
  expect(documentUrl(sourceUrl(3, "report", {}), "report.md")).toBe("api/v1/sources/3/report.md");
  const asked = sourceUrl(3, "report", { at: "mark:a/report", keep: ["weak"] });
  expect(documentUrl(asked, "report.html")).toBe(
    "api/v1/sources/3/report.html?at=mark%3Aa%2Freport&keep=weak",
  );
});

test("answers are forgotten when there are too many, the least used ones first", () => {
  const cache = new AnswerCache(100);
  cache.set("a", 1, 40);
  cache.set("b", 2, 40);
  expect(cache.get("a")).toBe(1);
  cache.set("c", 3, 40);
  expect([cache.get("a"), cache.get("b"), cache.get("c")]).toEqual([1, undefined, 3]);
  cache.set("huge", 4, 60);
  expect(cache.get("huge")).toBeUndefined();
});
