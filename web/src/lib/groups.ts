// Writes object groups in the language of docs/groups.md, so that a selection has an address that stays.

const PLAIN_CLASS = /^[\p{L}_$][\p{L}\p{N}_$]*(\.[\p{L}_$][\p{L}\p{N}_$]*)*(\[\])*$/u;

/** The bare words of the language; a class of such a name is put in quotes. */
const RESERVED = new Set(["all", "unreachable", "reached", "retained", "roots", "referrers", "references"]);

export function quote(text: string): string {
  const escaped = text
    .replaceAll("\\", "\\\\")
    .replaceAll('"', '\\"')
    .replaceAll("\n", "\\n")
    .replaceAll("\t", "\\t");
  return `"${escaped}"`;
}

export function classGroup(name: string): string {
  return PLAIN_CLASS.test(name) && !RESERVED.has(name) ? name : `class(${quote(name)})`;
}

/** The class objects of a class: they hold its static fields. */
export function classObjects(name: string): string {
  return `class_objects(${quote(name)})`;
}

/** What a classification starts with: all reachable objects, a group, a condition. */
export interface Base {
  group?: string;
  where?: string;
}

export function baseGroup(base: Base): string | null {
  const parts = [];
  if (base.group) parts.push(base.where ? `(${base.group})` : base.group);
  if (base.where) parts.push(`where(${base.where})`);
  return parts.length ? parts.join(" & ") : null;
}

/** The objects of a node of a classification tree, or null if its keys cannot be told apart in writing. */
export function nodeGroup(steps: string, keys: string[], base: Base): string | null {
  const start = baseGroup(base);
  if (keys.length === 0) return start ?? "all()";
  if (steps === "type" && keys.length === 1) {
    const objects = classGroup(keys[0]!);
    if (!start) return objects;
  }
  if (keys.some((key) => key.includes(" > "))) return null;
  const end = start ? `, ${start}` : "";
  return `node(${quote(steps)}, ${quote(keys.join(" > "))}${end})`;
}

export function union(groups: string[]): string {
  return groups.join(" | ");
}
