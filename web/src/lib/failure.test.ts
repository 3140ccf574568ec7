import { expect, test } from "vitest";
import { failureReport, withoutToken } from "./failure";

test("a report names the place, the address and the error, and no token", () => {
  const error = new Error("each_key_duplicate");
  const text = failureReport({
    where: "start",
    address: "http://127.0.0.1:4000/?token=secret#/0/start?at=%231",
    error,
    version: "1.2.3",
    browser: "A browser",
  });
  expect(text).not.toContain("secret");
  for (const part of ["1.2.3", "start", "http://127.0.0.1:4000/?#/0/start?at=%231", "A browser"])
    expect(text).toContain(part);
  expect(text).toContain("each_key_duplicate");
});

test("an address loses its token wherever it is", () => {
  expect(withoutToken("http://x/#token=abc")).toBe("http://x/");
  expect(withoutToken("http://x/?token=abc&a=1")).toBe("http://x/?a=1");
  expect(withoutToken("http://x/#/0/strings?text=token")).toBe("http://x/#/0/strings?text=token");
});

test("what is thrown need not be an error", () => {
  const thrown = { where: "x", address: "", error: "a text", version: "1", browser: "" };
  expect(failureReport(thrown)).toContain("a text");
});
