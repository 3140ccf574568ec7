// Merged paths as a graph: one node for each class, one edge for each field between two classes, with how many
// objects of the group it leads to. Branches that small are folded into one node, which can be unfolded.

import type { Branch, MergedPaths } from "../api/types";

export interface GraphNode {
  id: string;
  title: string;
  kind: "root" | "class" | "object" | "target";
  /** Objects of the group at or below this node, and those that are here. */
  objects: number;
  here: number;
  held: number;
  merged: number;
  example: string | null;
}

export interface GraphEdge {
  from: string;
  to: string;
  fields: string[];
  objects: number;
}

export interface PathGraph {
  nodes: GraphNode[];
  edges: GraphEdge[];
  /** Branches that are too small to be shown. */
  hidden: number;
}

/** Nodes and edges of the branches that lead to at least `least` percent of the objects or bytes. */
export function pathGraph(paths: MergedPaths, least: number): PathGraph {
  const nodes = new Map<string, GraphNode>();
  const edges = new Map<string, GraphEdge & { seen: Set<string> }>();
  let hidden = paths.omitted.branches;

  const node = (id: string, title: string, kind: GraphNode["kind"], example: string | null): GraphNode => {
    let made = nodes.get(id);
    if (!made) {
      made = { id, title, kind, objects: 0, here: 0, held: 0, merged: 0, example };
      nodes.set(id, made);
    }
    return made;
  };
  const edge = (from: string, to: string, field: string, objects: number) => {
    const id = `${from}\u0000${to}`;
    let made = edges.get(id);
    if (!made) {
      made = { from, to, fields: [], objects: 0, seen: new Set() };
      edges.set(id, made);
    }
    if (!made.seen.has(field)) {
      made.seen.add(field);
      made.fields.push(field);
    }
    made.objects += objects;
  };
  const small = (branch: Branch) =>
    branch.objects * 100 < least * paths.objects && branch.held * 100 < least * Math.max(1, paths.held);

  const walk = (branch: Branch, parent: string, above: Set<string>) => {
    if (small(branch)) {
      hidden += 1;
      return;
    }
    const id = (branch.class_object ? "class " : "") + branch.class;
    const made = node(id, id, branch.class_object ? "class" : "object", branch.example);
    // An object below others of its class, as in a list, leads to the same objects: they count once.
    if (!above.has(id)) {
      made.objects += branch.objects;
      made.held += branch.held;
    }
    made.here += branch.here;
    made.merged += branch.merged;
    if (branch.here > 0 && branch.class === paths.target) made.kind = "target";
    edge(parent, id, branch.via, branch.objects);
    for (const field of branch.through) edge(id, id, field, 0);
    const below = new Set(above).add(id);
    for (const child of branch.children) walk(child, id, below);
    hidden += branch.omitted.branches;
  };

  for (const branch of paths.branches) {
    if (small(branch)) {
      hidden += 1;
      continue;
    }
    const id = `root ${branch.via}`;
    const root = node(id, branch.via, "root", null);
    root.objects += branch.objects;
    root.held += branch.held;
    walk({ ...branch, via: "" }, id, new Set());
  }
  return {
    nodes: [...nodes.values()],
    edges: [...edges.values()].map(({ from, to, fields, objects }) => ({ from, to, fields, objects })),
    hidden,
  };
}
