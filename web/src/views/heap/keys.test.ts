import { expect, test } from "vitest";
import { packageOfKeys } from "./keys";

test("classes belong to their package, however they are called", () => {
  expect(packageOfKeys(["java.util.HashMap$Node"], ["type"])).toBe("java.util");
  expect(packageOfKeys(["byte[]", "← java.lang.String"], ["type", "pointed-from", "type"])).toBe("java.lang");
  expect(packageOfKeys(["byte[]"], ["type"])).toBe("primitive arrays");
  expect(packageOfKeys(["Main"], ["type"])).toBe("(default package)");
});

test("names of packages are put together", () => {
  const steps = ["package", "type"];
  expect(packageOfKeys(["java"], steps)).toBe("java");
  expect(packageOfKeys(["java", "util", "concurrent"], steps)).toBe("java.util");
  expect(packageOfKeys(["java", "util", "java.util.HashMap"], steps)).toBe("java.util");
  expect(packageOfKeys(["(no package)", "Orders$Order"], steps)).toBe("(default package)");
});

test("other keys belong to none", () => {
  expect(packageOfKeys(["static field"], ["kind"])).toBeNull();
  expect(packageOfKeys(["array"], ["kind"])).toBeNull();
  expect(packageOfKeys(['thread "main"'], ["closest-root"])).toBeNull();
  expect(packageOfKeys([], ["type"])).toBeNull();
});
