// The dominator tree, asked for level by level. An item for one object is asked for by its address; one for several
// objects of a class has none and is found from the nearest object above it.

import { type Address, ask } from "../../api/client";
import type { AnswerTo, DominatorItem, Options } from "../../api/types";
import type { TreeSource } from "../../lib/tree.svelte";

export interface DominatorRow extends DominatorItem {
  /** The nearest object at or above it, if there is one, and the labels from there down to it. */
  base: string | null;
  labels: string[];
}

export function dominatorTree(
  address: (options: Options<"dominators">) => Address<AnswerTo<"dominators">> | null,
  top: string | null,
  onroot: (root: DominatorItem) => void,
): TreeSource<DominatorRow> {
  return {
    async load(row, offset, limit) {
      const base = row ? row.base : top;
      const labels = row?.labels ?? [];
      const url = address({
        object: base ?? undefined,
        depth: labels.length + 1,
        limit: offset + limit,
        least: 0,
      });
      if (url === null) return { rows: [], rest: 0 };
      const { tree } = await ask(url);
      if (!row && offset === 0) onroot(tree);
      const item = descend(tree, labels);
      if (!item) return { rows: [], rest: 0 };
      const rows = item.children.slice(offset).map((child) => place(child, base, labels));
      return { rows, rest: rows.length ? item.omitted.objects : 0 };
    },
    expandable: (row) =>
      row.objects > row.members && row.deeper + row.omitted.objects + row.children.length > 0,
    key: (row) => row.address ?? row.label,
  };
}

export function descend(tree: DominatorItem, labels: string[]): DominatorItem | undefined {
  let item: DominatorItem | undefined = tree;
  for (const label of labels) item = item?.children.find((child) => child.label === label);
  return item;
}

function place(item: DominatorItem, base: string | null, labels: string[]): DominatorRow {
  return item.address
    ? { ...item, base: item.address, labels: [] }
    : { ...item, base, labels: [...labels, item.label] };
}
