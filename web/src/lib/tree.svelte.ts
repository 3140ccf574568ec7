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

/** The rows of a place: below a node, or at the top of the tree. */
interface Rows<R> {
  children: Node<R>[];
  rest: number;
  loading: boolean;
  failed: string | null;
  /** How many of them have a key. */
  keys: Map<string, number>;
}

export interface Node<R> extends Rows<R> {
  /** Unlike that of any other row of the tree. */
  id: string;
  row: R;
  parent: Node<R> | null;
  depth: number;
  expanded: boolean;
  loaded: boolean;
  /** Place among its siblings, from 1. */
  position: number;
}

export type Line<R> =
  | { kind: "row"; id: string; depth: number; node: Node<R>; expanded: boolean }
  | { kind: "more"; id: string; depth: number; parent: Node<R> | null; rest: number; failed: string | null }
  | { kind: "waiting"; id: string; depth: number };

const PAGE = 200;
const MOST_AT_ONCE = 5000;

interface Shown<R> {
  source: TreeSource<R> | null;
  top: Rows<R>;
  expandedIds: Set<string>;
}

export class TreeModel<R> {
  lines = $state.raw<Line<R>[]>([]);
  waiting = $state(false);
  failed = $state.raw<unknown>(null);
  private top: Rows<R> = empty();
  private expandedIds = new Set<string>();
  /** Rows that unfold as soon as they come, since they were unfolded when the tree was left. */
  private wanted = new Set<string>();
  private generation = 0;
  /** The last tree that came, while another one is asked for or was refused. */
  private shown: Shown<R> | null = null;

  constructor(private source: TreeSource<R> | null = null) {}

  /**
   * Shows another tree, or the same in another order; what was expanded stays so where it is still there. `back` tells
   * after which failures the tree before is shown again.
   */
  async show(
    source: TreeSource<R>,
    keepExpanded: boolean,
    back?: (cause: unknown) => boolean,
  ): Promise<void> {
    const before: Shown<R> = this.shown ?? {
      source: this.source,
      top: this.top,
      expandedIds: this.expandedIds,
    };
    this.shown = before;
    this.source = source;
    this.generation += 1;
    this.expandedIds = new Set(keepExpanded ? before.expandedIds : []);
    this.top = empty();
    this.waiting = true;
    this.failed = null;
    const generation = this.generation;
    try {
      await this.page(null);
      if (generation === this.generation) this.shown = null;
    } catch (cause) {
      if (generation === this.generation) {
        this.failed = cause;
        if (back?.(cause)) ({ source: this.source, top: this.top, expandedIds: this.expandedIds } = before);
        this.shown = null;
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
    this.expandedIds.delete(node.id);
    this.wanted.delete(node.id);
    Object.assign(node, empty<R>(), { expanded: false, loaded: false });
    this.refresh();
  }

  toggle(node: Node<R>): void {
    if (node.expanded) this.collapse(node);
    else void this.expand(node);
  }

  expandable(node: Node<R>): boolean {
    return this.source?.expandable(node.row) ?? false;
  }

  /** The rows that are unfolded, by their ids. */
  unfolded(): string[] {
    return [...this.expandedIds];
  }

  /** Unfolds rows with these ids, those that are there and those that are still to come. */
  unfold(ids: string[]): void {
    this.wanted = new Set(ids);
    for (const line of this.lines)
      if (line.kind === "row" && this.wanted.has(line.id)) void this.expand(line.node);
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
    const { keys } = place;
    place.loading = true;
    place.failed = null;
    this.refresh();
    let page: Page<R>;
    try {
      // The more is looked at, the more comes at once.
      const limit = Math.min(MOST_AT_ONCE, Math.max(PAGE, place.children.length));
      page = await this.source.load(node?.row ?? null, place.children.length, limit);
    } finally {
      if (place.keys === keys) place.loading = false;
    }
    // Another tree, or folded meanwhile.
    if (generation !== this.generation || place.keys !== keys) return;
    const before = place.children.length;
    for (const row of page.rows) place.children.push(this.node(row, node, place));
    place.rest = page.rest;
    if (node) node.loaded = true;
    this.refresh();
    for (const child of place.children.slice(before))
      if (this.isWanted(child.id) || this.source?.leads?.(child.row, page.rows.length))
        void this.expand(child);
  }

  private isWanted(id: string): boolean {
    return this.expandedIds.has(id) || this.wanted.has(id);
  }

  private node(row: R, parent: Node<R> | null, place: Rows<R>): Node<R> {
    const key = this.source!.key(row);
    // Siblings may be equal in all that is known of them.
    const equal = place.keys.get(key) ?? 0;
    place.keys.set(key, equal + 1);
    const own = equal ? `${key}\u0003${equal}` : key;
    return {
      ...empty(),
      id: parent ? `${parent.id}\u0000${own}` : own,
      row,
      parent,
      depth: parent ? parent.depth + 1 : 0,
      expanded: false,
      loaded: false,
      position: place.children.length + 1,
    };
  }

  private refresh(): void {
    const lines: Line<R>[] = [];
    const put = (children: Node<R>[], depth: number) => {
      for (const node of children) {
        lines.push({ kind: "row", id: node.id, depth, node, expanded: node.expanded });
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

function empty<R>(): Rows<R> {
  return { children: [], rest: 0, loading: false, failed: null, keys: new Map() };
}

/** A tree that is in memory already, in the order of a number or a text, the largest or the first first. */
export function memoryTree<R>(
  top: R[],
  children: (row: R) => R[],
  key: (row: R) => string,
  order?: (a: R, b: R) => number,
): TreeSource<R> {
  return {
    // All at once: they are there already, and only those in sight are drawn.
    load(row) {
      const all = row ? children(row) : top;
      return { rows: order ? [...all].sort(order) : all, rest: 0 };
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
