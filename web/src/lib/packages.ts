// Colours by package: the packages that stand for most get one each, everything else is grey.

import { OTHER, SERIES } from "./colours";
import type { Part } from "./icicle";

/** Names of domains, below which the next two parts say whose code it is. */
const DOMAINS = new Set(["com", "org", "net", "io", "dev", "edu", "de", "ch", "at", "fr", "uk"]);

/** The package that a class is counted to: `java.util` for `java.util.concurrent.Future`, `com.acme.shop` for
 * `com.acme.shop.cart.Item`. */
export function packageOf(className: string): string {
  const plain = className.replace(/(\[\d*\])+$/, "").replace(/^class /, "");
  if (/^(byte|short|int|long|char|float|double|boolean)$/.test(plain)) return "primitive arrays";
  const names = plain.split("/")[0]!.split(".").slice(0, -1);
  if (names.length === 0) return "(default package)";
  return names.slice(0, DOMAINS.has(names[0]!) ? 3 : 2).join(".");
}

export interface Legend {
  /** By package; what is not in it is grey. */
  colours: Map<string, string>;
  /** Whether something is grey. */
  others: boolean;
}

/** Gives the packages that weigh most a colour each. */
export function legend(weights: Iterable<[name: string, weight: number]>, most = 8): Legend {
  const sums = new Map<string, number>();
  for (const [name, weight] of weights) sums.set(name, (sums.get(name) ?? 0) + weight);
  const ranked = [...sums].filter(([, sum]) => sum > 0).sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  const colours = new Map(ranked.slice(0, most).map(([name], i) => [name, SERIES[i % SERIES.length]!]));
  return { colours, others: ranked.length > most };
}

/** The packages that take the most room in a drawn tree. */
export function packagesOf<T>(top: Part<T>, of: (part: Part<T>) => string | null): Legend {
  const weights: [string, number][] = [];
  const waiting = [top];
  for (let part = waiting.pop(); part; part = waiting.pop()) {
    const name = of(part);
    if (name) weights.push([name, part.value]);
    waiting.push(...part.children);
  }
  return legend(weights);
}

/** The colour of a package. */
export function colourOf(name: string | null, found: Legend | undefined): string {
  return found?.colours.get(name ?? "") ?? OTHER;
}

/** The legend as it is shown. */
export function shownLegend(found: Legend | undefined): { name: string; colour: string }[] {
  const named = [...(found?.colours ?? [])].map(([name, colour]) => ({ name, colour }));
  return found?.others ? [...named, { name: "other packages", colour: OTHER }] : named;
}
