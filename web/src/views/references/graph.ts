// The rows of references that are unfolded, as a graph: an object is one node however many references lead to it.

import type { GraphEdge, GraphNode, PathGraph } from "../../lib/path_graph";
import type { Line, Node } from "../../lib/tree.svelte";
import type { RefRow } from "./source";

/** Neighbours of a node that are drawn; a table shows more of them. */
export const MOST_NEIGHBOURS = 12;

export interface ReferenceGraph extends PathGraph {
  /** The row of each node, by its id. */
  rows: Map<string, Node<RefRow>>;
}

export function referenceGraph(lines: Line<RefRow>[], incoming: boolean): ReferenceGraph {
  const nodes = new Map<string, GraphNode>();
  const edges = new Map<string, GraphEdge>();
  const rows = new Map<string, Node<RefRow>>();
  let hidden = 0;
  const name = (node: Node<RefRow>) => node.row.address ?? node.id;
  const drawn = new Set<string>();
  for (const line of lines) {
    if (line.kind === "more") hidden += line.rest;
    if (line.kind !== "row") continue;
    const { node } = line;
    const above = node.parent;
    if (above && (node.position > MOST_NEIGHBOURS || !drawn.has(above.id))) {
      hidden += drawn.has(above.id) ? 1 : 0;
      continue;
    }
    drawn.add(node.id);
    const id = name(node);
    if (!nodes.has(id)) {
      const { row } = node;
      nodes.set(id, {
        id,
        title: row.label.replace(/ @ 0x[0-9a-f]+$/, ""),
        kind: row.start ? "target" : row.root ? "root" : row.label.startsWith("class ") ? "class" : "object",
        objects: row.objects,
        here: row.objects,
        held: row.retained,
        merged: row.objects,
        example: row.address,
      });
    }
    // A node unfolds where it came first; if it is unfolded elsewhere, it folds there.
    if (!rows.has(id) || (node.expanded && !rows.get(id)!.expanded)) rows.set(id, node);
    if (!above) continue;
    const [from, to] = incoming ? [id, name(above)] : [name(above), id];
    const between = edges.get(`${from}\0${to}`) ?? { from, to, fields: [], objects: 0 };
    if (!between.fields.includes(node.row.via)) between.fields.push(node.row.via);
    between.objects += node.row.objects;
    edges.set(`${from}\0${to}`, between);
  }
  return { nodes: [...nodes.values()], edges: [...edges.values()], hidden, rows };
}
