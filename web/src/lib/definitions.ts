// Definitions of a person's own, in the form of the files that `--define` takes (docs/classification.md, docs/groups.md):
// finds, adds and takes away single ones. What they mean is the server's business.

export const KINDS = ["classifier", "filter", "transformer", "function", "group"] as const;
export type Kind = (typeof KINDS)[number];

export interface Defined {
  kind: Kind;
  name: string;
  /** Where it stands in the text, its comment included. */
  start: number;
  end: number;
}

const BEGINNING = new RegExp(`^(${KINDS.join("|")})[ \\t]+([\\p{L}_][\\p{L}\\p{N}_-]*)`, "gmu");
const COMMENT = /(?:^[ \t]*#.*\n)+$/m;

export function definitionsIn(text: string): Defined[] {
  const found = [...text.matchAll(BEGINNING)].map((match) => {
    const comment = COMMENT.exec(text.slice(0, match.index));
    const start = comment && comment.index + comment[0].length === match.index ? comment.index : match.index;
    return { kind: match[1] as Kind, name: match[2]!, start };
  });
  return found.map((one, i) => ({ ...one, end: found[i + 1]?.start ?? text.length }));
}

export function without(text: string, name: string): string {
  const one = definitionsIn(text).find((other) => other.name === name);
  return one ? (text.slice(0, one.start) + text.slice(one.end)).trim() : text;
}

/** The text with one more definition, in place of the one that had its name. */
export function withDefinition(text: string, definition: string, name: string): string {
  const others = without(text, name);
  return `${others ? `${others}\n\n` : ""}${definition}\n`;
}

/** The definition of a step as it is written in a list of steps. */
export function stepDefinition(name: string, step: string): string {
  const [, word, rest = ""] = /^(?:(where|to)\b)?\s*(.*)$/s.exec(step.trim())!;
  const kind = word === "where" ? "filter" : word === "to" ? "transformer" : "classifier";
  return rest.startsWith("{") ? `${kind} ${name} ${rest}` : `${kind} ${name} = ${rest}`;
}

export function groupDefinition(name: string, group: string): string {
  return `group ${name} = ${group.replace(/\s*\n\s*/g, " ").trim()}`;
}
