// The columns of tree-tables, and the order of rows by them.

import type { Term } from "../lib/glossary";
import type { Snippet } from "svelte";
import { byColumn, type Sort } from "../lib/tree.svelte";

export interface Column<R> {
  id: string;
  title: string;
  term?: Term;
  width: number;
  /** How the value is shown; `cell` shows it otherwise. */
  kind: "bytes" | "count" | "percent" | "text";
  value: (row: R) => number | string | null;
  /** What 100% is: a bar and the share are shown. */
  whole?: number;
  /** The design token of the bar. */
  tint?: string;
  sortable?: boolean;
  cell?: Snippet<[R]>;
}

const MEASURES = {
  objects: { title: "Objects", kind: "count" },
  shallow: { title: "Shallow", kind: "bytes" },
  deep: { title: "Deep", kind: "bytes" },
  retained: { title: "Retained", kind: "bytes" },
} as const;

/** A column of one of the measures that every group has, in its colour. */
export function measured<R>(
  id: keyof typeof MEASURES,
  width: number,
  value: (row: R) => number | null,
  whole: number | undefined,
): Column<R> {
  return { id, ...MEASURES[id], term: id, width, value, whole, tint: id };
}

/** The order of rows that are in memory: by a column, or by their names. */
export function ordered<R>(columns: Column<R>[], sort: Sort, name: (row: R) => string) {
  const column = columns.find((one) => one.id === sort.column);
  return byColumn(column ? column.value : name, sort.ascending);
}
