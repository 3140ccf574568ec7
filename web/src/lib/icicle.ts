// Trees as rectangles on top of each other: as wide as what they stand for, what is below a node right under it. Flame
// graphs and icicles are drawn from it. Knows no canvas and no mouse.

/** A part of a tree with its share of the whole. */
export interface Part<T> {
  name: string;
  value: number;
  item: T;
  children: Part<T>[];
  parent: Part<T> | null;
  /** 0 at the top. */
  depth: number;
}

/** A part where it is drawn. */
export interface Box<T> {
  part: Part<T>;
  x: number;
  width: number;
  row: number;
}

/** Makes the parts of a tree; children that together are larger than their parent share its width. */
export function parts<T>(
  root: T,
  read: {
    name: (item: T) => string;
    value: (item: T) => number;
    children: (item: T) => T[];
    /** What a node weighs that keeps its order among its siblings; the value if there is none. */
    order?: (item: T) => number;
  },
): Part<T> {
  const make = (item: T, parent: Part<T> | null): Part<T> => ({
    name: read.name(item),
    value: Math.max(0, read.value(item)),
    item,
    children: [],
    parent,
    depth: parent ? parent.depth + 1 : 0,
  });
  const order = read.order ?? read.value;
  const top = make(root, null);
  const waiting = [top];
  for (let part = waiting.pop(); part; part = waiting.pop()) {
    const above = part;
    part.children = read
      .children(part.item)
      .map((child) => make(child, above))
      .filter((child) => child.value > 0)
      .sort((a, b) => order(b.item) - order(a.item));
    waiting.push(...part.children);
  }
  return top;
}

/** What is drawn when a part has the whole width: what leads to it, itself, and what is below it as far as it can be
 * seen. */
export function layout<T>(focus: Part<T>, width: number, narrowest = 1.5): Box<T>[] {
  const boxes = path(focus).map((part) => ({ part, x: 0, width, row: part.depth }));
  const waiting = boxes.slice(-1);
  for (let box = waiting.pop(); box; box = waiting.pop()) {
    const { part } = box;
    const sum = part.children.reduce((total, child) => total + child.value, 0);
    const scale = box.width / Math.max(part.value, sum, Number.MIN_VALUE);
    let x = box.x;
    for (const child of part.children) {
      const below = { part: child, x, width: child.value * scale, row: child.depth };
      x += below.width;
      if (below.width < narrowest) continue;
      boxes.push(below);
      waiting.push(below);
    }
  }
  return boxes;
}

/** From the top down to a part. */
export function path<T>(part: Part<T>): Part<T>[] {
  const found: Part<T>[] = [];
  for (let at: Part<T> | null = part; at; at = at.parent) found.unshift(at);
  return found;
}

/** The part that the names lead to from the top, as far as they do. */
export function follow<T>(top: Part<T>, names: string[]): Part<T> {
  let at = top;
  for (const name of names) {
    const next = at.children.find((child) => child.name === name);
    if (!next) break;
    at = next;
  }
  return at;
}

/** What is drawn at a place. */
export function boxAt<T>(boxes: Box<T>[], x: number, row: number): Box<T> | undefined {
  return boxes.find((box) => box.row === row && x >= box.x && x < box.x + box.width);
}

export type Direction = "up" | "down" | "left" | "right";

/** Where an arrow leads among what is drawn. */
export function neighbour<T>(boxes: Box<T>[], from: Part<T>, to: Direction): Part<T> | undefined {
  const at = boxes.find((box) => box.part === from);
  if (!at) return boxes[0]?.part;
  if (to === "up") return from.parent ?? undefined;
  if (to === "down") return boxes.find((box) => box.part.parent === from)?.part;
  const row = boxes.filter((box) => box.row === at.row).sort((a, b) => a.x - b.x);
  return row[row.indexOf(at) + (to === "left" ? -1 : 1)]?.part;
}

/** The parts whose names contain a text, and how much they stand for: what is below another one counts once. */
export function search<T>(top: Part<T>, text: string): { found: Set<Part<T>>; value: number } {
  const found = new Set<Part<T>>();
  const wanted = text.trim().toLowerCase();
  let value = 0;
  if (!wanted) return { found, value };
  const waiting: [Part<T>, boolean][] = [[top, false]];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const [part, counted] = next;
    const fits = part.depth > 0 && part.name.toLowerCase().includes(wanted);
    if (fits) found.add(part);
    if (fits && !counted) value += part.value;
    for (const child of part.children) waiting.push([child, counted || fits]);
  }
  return { found, value };
}

/** How many rows are drawn. */
export function rows<T>(boxes: Box<T>[]): number {
  return 1 + boxes.reduce((most, box) => Math.max(most, box.row), 0);
}
