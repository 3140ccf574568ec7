// The rows of a classification tree, asked for level by level.

import { type Address, ApiError, ask } from "../../api/client";
import type { AnswerTo, ClassNode, Options } from "../../api/types";
import type { TreeSource } from "../../lib/tree.svelte";

/** So many rows of a search unfold by themselves. */
const FEW = 20;

export interface ClassRow extends ClassNode {
  /** The keys from the top down to this row. */
  keys: string[];
}

/** Where the tree comes from; `address` makes an address of options. */
export function classTree(
  address: (options: Options<"classify">) => Address<AnswerTo<"classify">> | null,
  options: Options<"classify">,
  search: string | undefined,
  signal: AbortSignal,
  job: string,
  onroot: (root: ClassNode) => void,
): TreeSource<ClassRow> {
  const wanted = search?.toLowerCase() ?? "";
  /** Whether everything below is shown: it or a row above it has what is looked for. */
  const isFound = (row: ClassRow) => row.keys.some((key) => key.toLowerCase().includes(wanted));
  return {
    async load(row, offset, limit) {
      const url = address({
        ...options,
        node: row?.keys.join(" > "),
        depth: 1,
        limit,
        offset: offset || undefined,
        search: row && isFound(row) ? undefined : search,
      });
      if (url === null) return { rows: [], rest: 0 };
      const { tree } = await ask(url, { signal, job }).catch((cause: unknown) => {
        throw signal.aborted ? new ApiError("Cancelled.", 409) : cause;
      });
      if (!row && offset === 0) onroot(tree);
      const keys = row?.keys ?? [];
      const rows = (tree.children ?? []).map((child) => ({ ...child, keys: [...keys, child.key] }));
      // Those before the page count as left out, too.
      return { rows, rest: Math.max(0, (tree.omitted ?? 0) - offset) };
    },
    expandable: (row) => (row.omitted ?? 0) > 0,
    key: (row) => row.key,
    leads: (row, rows) => !isFound(row) && rows <= FEW,
  };
}
