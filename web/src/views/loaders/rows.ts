// Class loaders with their classes below them, and what a search finds.

import type { HistogramRow, LoaderRow } from "../../api/types";
import { splitLabel } from "../../lib/text";

/** A class loader, or a class of the one above. */
export interface Row {
  loader: LoaderRow | null;
  class: HistogramRow | null;
}

export function label(row: LoaderRow): string {
  return row.loader?.label ?? "boot";
}

/** What a class loader is called or what it loads: `/shop`, `app`, `plugin.jar`. */
export function subject(row: Row): string {
  const detail = splitLabel(row.loader?.loader?.label ?? "").rest.trim();
  return detail.replace(/^"(.*)"$/s, "$1");
}

export function loaderRows(rows: LoaderRow[]): Row[] {
  return rows.map((loader) => ({ loader, class: null }));
}

/** The classes of each class loader, by its label. */
export function classesByLoader(classes: HistogramRow[]): Map<string, Row[]> {
  const found = new Map<string, Row[]>();
  for (const row of classes) {
    const list = found.get(row.loader ?? "") ?? [];
    list.push({ loader: null, class: row });
    found.set(row.loader ?? "", list);
  }
  return found;
}

/** Classes that several class loaders define, those of most first. */
export function severalTimes(classes: HistogramRow[]): [string, string[]][] {
  const found = new Map<string, string[]>();
  for (const row of classes)
    if (row.class && !row.class.endsWith("[]"))
      found.set(row.class, [...(found.get(row.class) ?? []), row.loader ?? ""]);
  return [...found].filter(([, list]) => list.length > 1).sort((a, b) => b[1].length - a[1].length);
}

/** Whether a search finds a class loader: by its label, state, or one of the places that it loads from. */
export function matches(row: LoaderRow, search: string): boolean {
  const text = search.trim().toLowerCase();
  return [label(row), row.state ?? "", row.context ?? "", ...row.places].some((one) =>
    one.toLowerCase().includes(text),
  );
}
