// Text of the dump on its way to the screen: names taken apart, what would disturb the line made visible.

// Control characters, and those that change the direction of what follows.
const DISTURBING = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/** Text for one line: characters that cannot be seen are shown by their code. */
export function visible(text: string): string {
  return text.replace(DISTURBING, (c) => {
    if (c === "\n") return "⏎";
    if (c === "\t") return "⇥";
    return `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}

/** The first characters of a text, never half of a pair. */
export function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  const last = text.charCodeAt(most - 1);
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? most - 1 : most);
}

/** `java.util.` and `HashMap$Node[]`; what is generated or said after a name is no part of its package. */
export function splitName(name: string): { prefix: string; simple: string } {
  const after = name.search(/\/| \(/);
  const end = after < 0 ? name.length : after;
  const dot = name.lastIndexOf(".", end);
  return { prefix: name.slice(0, dot + 1), simple: name.slice(dot + 1) };
}

const CLASS_NAME = /^(?:class )?[\p{L}_$][\p{L}\p{N}_$/+-]*(?:\.[\p{L}_$][\p{L}\p{N}_$/+-]*)*(?:\[\d*\])*$/u;

export interface LabelParts {
  /** What comes before a name: `class `, `1,200 × `. */
  lead: string;
  prefix: string;
  simple: string;
  /** Text of a string, name of a thread, whatever else was said. */
  rest: string;
  address: string;
}

/** Takes the label of an object apart: class, contents, address. */
export function splitLabel(label: string): LabelParts {
  const place = / @ (0x[0-9a-f]+)$/.exec(label);
  const body = place ? label.slice(0, place.index) : label;
  const lead = /^(?:class |[\d,]+ × |(?:← |→ |kept by |dominates |retains |reaches ))/.exec(body)?.[0] ?? "";
  const named = body.slice(lead.length);
  const blank = named.search(/\s/);
  const head = blank < 0 ? named : named.slice(0, blank);
  // `static field`, `JNI global` and other plain words are no class with something after it.
  const words =
    blank >= 0 && !place && !lead && !/[.[\]$]/.test(head) && !/^\s["'#]/.test(named.slice(blank));
  if (words || body.includes(" > ") || !CLASS_NAME.test(head)) {
    return { lead: "", prefix: "", simple: body, rest: "", address: place?.[1] ?? "" };
  }
  const { prefix, simple } = splitName(head);
  return {
    lead,
    prefix,
    simple,
    rest: blank < 0 ? "" : named.slice(blank),
    address: place?.[1] ?? "",
  };
}

/** The name of the file at the end of a path. */
export function fileName(path: string): string {
  return path.slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1);
}
