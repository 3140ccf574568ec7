// Which rows of a tree are shown: what is expanded, what has been loaded, what is still to come. Children are
// loaded in pages when they are looked at; collapsing frees what is below.

export interface Page<R> {
  rows: R[];
  /** How many more there are after these. */
  rest: number;
}

export interface TreeSource<R> {
  /** Children of a row, or the rows at the top. */
  load(row: R | null, offset: number, limit: number): Promise<Page<R>> | Page<R>;
  expandable(row: R): boolean;
  /** Distinguishes a row from its siblings. */
  key(row: R): string;
  /** Whether a row unfolds by itself when it comes in a page of so many: it only leads to what is looked for. */
  leads?(row: R, rows: number): boolean;
}

export interface Node<R> {
  id: string;
  row: R;
  parent: Node<R> | null;
  depth: number;
  expanded: boolean;
  children: Node<R>[];
  rest: number;
  loaded: boolean;
  loading: boolean;
  failed: string | null;
  /** Place among its siblings, from 1. */
  position: number;
}

export type Line<R> =
  | { kind: "row"; id: string; depth: number; node: Node<R> }
  | { kind: "more"; id: string; depth: number; parent: Node<R> | null; rest: number; failed: string | null }
  | { kind: "waiting"; id: string; depth: number };

const PAGE = 200;

export class TreeModel<R> {
  lines = $state.raw<Line<R>[]>([]);
  waiting = $state(false);
  failed = $state.raw<unknown>(null);
  private top: { children: Node<R>[]; rest: number; loading: boolean; failed: string | null } = empty();
  private expandedIds = new Set<string>();
  private generation = 0;

  constructor(private source: TreeSource<R> | null = null) {}

  /** Shows another tree, or the same in another order; what was expanded stays so where it is still there. */
  async show(source: TreeSource<R>, keepExpanded: boolean): Promise<void> {
    this.source = source;
    this.generation += 1;
    if (!keepExpanded) this.expandedIds.clear();
    this.top = empty();
    this.waiting = true;
    this.failed = null;
    const generation = this.generation;
    try {
      await this.page(null);
    } catch (cause) {
      if (generation === this.generation) {
        this.failed = cause;
        this.refresh();
      }
    }
    if (generation === this.generation) this.waiting = false;
  }

  async expand(node: Node<R>): Promise<void> {
    if (!this.source?.expandable(node.row) || node.expanded) return;
    node.expanded = true;
    this.expandedIds.add(node.id);
    if (!node.loaded) await this.more(node);
    else this.refresh();
  }

  collapse(node: Node<R>): void {
    node.expanded = false;
    this.expandedIds.delete(node.id);
    node.children = [];
    node.rest = 0;
    node.loaded = false;
    this.refresh();
  }

  toggle(node: Node<R>): void {
    if (node.expanded) this.collapse(node);
    else void this.expand(node);
  }

  expandable(node: Node<R>): boolean {
    return this.source?.expandable(node.row) ?? false;
  }

  /** Loads the next page below a node, or at the top; what goes wrong is said on its line. */
  async more(node: Node<R> | null): Promise<void> {
    try {
      await this.page(node);
    } catch (cause) {
      if (cause instanceof DOMException && cause.name === "AbortError") return;
      (node ?? this.top).failed = cause instanceof Error ? cause.message : String(cause);
      this.refresh();
    }
  }

  /** The rows from the top down to a node. */
  path(node: Node<R>): Node<R>[] {
    const path = [];
    for (let at: Node<R> | null = node; at; at = at.parent) path.unshift(at);
    return path;
  }

  private async page(node: Node<R> | null): Promise<void> {
    const place = node ?? this.top;
    if (place.loading || !this.source) return;
    const generation = this.generation;
    place.loading = true;
    place.failed = null;
    this.refresh();
    let page: Page<R>;
    try {
      page = await this.source.load(node?.row ?? null, place.children.length, PAGE);
    } finally {
      place.loading = false;
    }
    if (generation !== this.generation) return;
    const before = place.children.length;
    place.children = [...place.children, ...page.rows.map((row, i) => this.node(row, node, before + i + 1))];
    place.rest = page.rest;
    if (node) node.loaded = true;
    this.refresh();
    for (const child of place.children.slice(before))
      if (this.expandedIds.has(child.id) || this.source?.leads?.(child.row, page.rows.length))
        void this.expand(child);
  }

  private node(row: R, parent: Node<R> | null, position: number): Node<R> {
    const key = this.source!.key(row);
    return {
      id: parent ? `${parent.id}\u0000${key}` : key,
      row,
      parent,
      depth: parent ? parent.depth + 1 : 0,
      expanded: false,
      children: [],
      rest: 0,
      loaded: false,
      loading: false,
      failed: null,
      position,
    };
  }

  private refresh(): void {
    const lines: Line<R>[] = [];
    const put = (children: Node<R>[], depth: number) => {
      for (const node of children) {
        lines.push({ kind: "row", id: node.id, depth, node });
        if (!node.expanded) continue;
        put(node.children, depth + 1);
        end(node, node, depth + 1);
      }
    };
    const end = (
      place: { rest: number; loading: boolean; failed: string | null },
      parent: Node<R> | null,
      depth: number,
    ) => {
      const id = parent?.id ?? "";
      if (place.loading) lines.push({ kind: "waiting", id: `${id}\u0001`, depth });
      else if (place.rest > 0 || place.failed)
        lines.push({
          kind: "more",
          id: `${id}\u0002`,
          depth,
          parent,
          rest: place.rest,
          failed: place.failed,
        });
    };
    put(this.top.children, 0);
    end(this.top, null, 0);
    this.lines = lines;
  }
}

function empty<R>(): { children: Node<R>[]; rest: number; loading: boolean; failed: string | null } {
  return { children: [], rest: 0, loading: false, failed: null };
}

/** A tree that is in memory already, in the order of a number or a text, the largest or the first first. */
export function memoryTree<R>(
  top: R[],
  children: (row: R) => R[],
  key: (row: R) => string,
  order?: (a: R, b: R) => number,
): TreeSource<R> {
  return {
    load(row, offset, limit) {
      const all = row ? children(row) : top;
      const sorted = order ? [...all].sort(order) : all;
      return { rows: sorted.slice(offset, offset + limit), rest: Math.max(0, all.length - offset - limit) };
    },
    expandable: (row) => children(row).length > 0,
    key,
  };
}

export interface Sort {
  column: string;
  ascending: boolean;
}

/** Compares rows by a column, nulls last. */
export function byColumn<R>(value: (row: R) => number | string | null, ascending: boolean) {
  return (a: R, b: R): number => {
    const x = value(a);
    const y = value(b);
    if (x === null || y === null) return x === y ? 0 : x === null ? 1 : -1;
    const order = typeof x === "string" ? x.localeCompare(String(y)) : x - Number(y);
    return ascending ? order : -order;
  };
}
