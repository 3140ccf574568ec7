// Which package a node of a classification tree belongs to.

import { packageOf } from "../../lib/packages";
import { splitLabel } from "../../lib/text";

const PLAIN = /^[\p{L}_$][\p{L}\p{N}_$]*$/u;

/** The package of a node, given its keys from the top: that of the class it is called by, or of the names of packages that
 * lead to it. Nothing for other keys. */
export function packageOfKeys(keys: string[], steps: string[]): string | null {
  const key = keys.at(-1) ?? "";
  const { prefix, simple, rest } = splitLabel(key);
  const isClass = prefix !== "" || /\[\d*\]$/.test(simple);
  if (isClass && rest === "") return packageOf(prefix + simple);
  if (!PLAIN.test(key)) return null;
  if (keys[0] === "(no package)") return packageOf(key);
  const names = steps.some((step) => /^package\b/.test(step)) ? keys.filter((one) => PLAIN.test(one)) : [];
  if (names.length > 0) return packageOf(`${names.join(".")}.Some`);
  return steps.length === 1 && steps[0] === "type" ? packageOf(key) : null;
}
