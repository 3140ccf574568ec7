import { expect, test } from "vitest";
import { reportName } from "./forms";

test("a report is named after its file", () => {
  expect(reportName("app.hprof", "html")).toBe("app-report.html");
  expect(reportName("app.hprof.gz", "md")).toBe("app-report.md");
  expect(reportName("shop.v2.trace", "json")).toBe("shop.v2-report.json");
  expect(reportName(".hprof", "json")).toBe("heap-report.json");
});
