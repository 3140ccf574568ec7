// The columns of tree-tables.

import type { Term } from "../lib/glossary";
import type { Snippet } from "svelte";

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
