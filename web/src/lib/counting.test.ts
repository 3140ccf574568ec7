import { expect, test } from "vitest";
import { countingFor, inWords, readCounting, writeCounting } from "./counting";

test("what counts is as usual if an address says nothing", () => {
  const usual = readCounting({});
  expect(usual).toEqual({ keep: ["soft"], mat: false, unreachable: false, folded: true });
  expect(Object.values(writeCounting(usual)).join("")).toBe("");
  expect(inWords(usual)).toBe("");
  expect(countingFor("classify", {})).toEqual({});
});

test("choices are kept in an address", () => {
  for (const params of [
    { keep: "soft,weak", compat: "", unreachable: "1", collapse: "0" },
    { keep: "none", compat: "", unreachable: "", collapse: "" },
    { keep: "", compat: "mat", unreachable: "", collapse: "" },
  ]) {
    const given = Object.fromEntries(Object.entries(params).filter(([, value]) => value));
    expect(writeCounting(readCounting(given))).toEqual(params);
  }
  expect(inWords(readCounting({ keep: "none", unreachable: "1" }))).toBe("strong only · unreachable too");
});

test("a question gets the choices that it knows", () => {
  const params = { keep: "soft,weak", unreachable: "1", collapse: "0" };
  const keep = ["soft", "weak"];
  expect(countingFor("classify", params)).toEqual({ keep, unreachable: true });
  expect(countingFor("paths", params)).toEqual({ keep, collapse: false });
  expect(countingFor("report", params)).toEqual({ keep });
  expect(countingFor("classifiers", params)).toEqual({});
  expect(countingFor("report", { compat: "mat", keep: "weak" })).toEqual({ compat: "mat" });
  // A group is what it says, whatever else is counted.
  expect(countingFor("classify", { ...params, unreachable: "1" }, { group: "a.B" })).toEqual({ keep });
});
