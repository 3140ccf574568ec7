// The tree of calls as a graph: how wide a call is, what it is called, and what its colour means.

import type { AllocationNode } from "../../api/types";
import { CHANGE, OTHER } from "../../lib/colours";
import { bytes, percent, plural, share, signed } from "../../lib/format";
import { type Part, parts } from "../../lib/icicle";
import { packageOf } from "../../lib/packages";
import { splitName } from "../../lib/text";

export type Measure = "allocated" | "survived" | "change";

/** How wide a node is. Bytes of both states add up like others, and what has died is seen as well. */
export function weight(node: AllocationNode, measure: Measure): number {
  return measure === "change" ? node.before + node.after : node[measure];
}

export function nameOf(node: AllocationNode): string {
  switch (node.kind) {
    case "program":
      return "the program";
    case "unknown":
      return "(stack not recorded)";
    case "objects":
      return node.class ?? "";
    case "method":
      return `${node.class}.${node.method}`;
  }
}

/** The name without the package. */
export function shortOf(node: AllocationNode): string {
  if (!node.class) return nameOf(node);
  const { simple } = splitName(node.class);
  return node.kind === "method" ? `${simple}.${node.method}` : simple;
}

export function flame(tree: AllocationNode, measure: Measure): Part<AllocationNode> {
  return parts(tree, {
    name: nameOf,
    value: (node) => weight(node, measure),
    children: (node) => node.children ?? [],
  });
}

/** The package of a call or of objects; nothing for what has none. */
export function packageOfNode(node: AllocationNode): string | null {
  return node.class ? packageOf(node.class) : null;
}

/** From −1, all of it died, to 1, all of it is new. */
export function changeOf(node: AllocationNode): number {
  const most = Math.max(node.before, node.after);
  return most === 0 ? 0 : (node.after - node.before) / most;
}

export function changeColour(node: AllocationNode): string {
  const change = changeOf(node);
  const step = change < -0.5 ? 0 : change < -0.02 ? 1 : change <= 0.02 ? 2 : change <= 0.5 ? 3 : 4;
  return CHANGE[step] ?? OTHER;
}

/** The figures of a call in words. */
export function figures(node: AllocationNode, top: AllocationNode, measure: Measure): string {
  if (measure === "change") {
    return `${bytes(node.before)} → ${bytes(node.after)} (${signed(node.after - node.before, bytes)})`;
  }
  const sampled = plural(node.samples, "sample");
  const part = percent(share(node[measure], top[measure]));
  return `${bytes(node.allocated)} allocated, ${bytes(node.survived)} survived · ${part} of all · ${sampled}`;
}
