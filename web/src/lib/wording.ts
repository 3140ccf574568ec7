// What the server says to those who ask it from a command line, in the words of the pages: fields instead of options, no
// commands to type, and what it suggests as something to click.

/** What an option is called where it is a field of the pages. */
const FIELDS: Record<string, string> = {
  by: "Steps",
  split: "Steps",
  "roots-by": "Steps",
  where: "Condition",
  group: "Group",
  rule: "Rule",
  define: "Definitions",
  definitions: "Definitions",
};

export interface Worded {
  message: string;
  advice?: string;
  /** What was written wrongly, and where. */
  option?: string;
  line?: number;
  column?: number;
  /** What may have been meant instead of a word. */
  wrong?: string;
  meant: string[];
}

/** Whether a part of a sentence is about what to type: an option, a command, a file of the documentation. */
const isTyped = (text: string) =>
  /(^|[\s(`])--[a-z]|`anthill\b|`objects` lists|\bdocs\/\S+\.md|openapi\.json/.test(text);

/** Takes apart what the server says about a question that failed. */
export function worded(text: string, advice: string | null | undefined): Worded {
  const [first = "", ...drawn] = text.split("\n");
  const place = /^(?:--)?([a-z-]+)(?:, (?:line (\d+), )?column (\d+))?: /.exec(first);
  const option = place && (place[0].startsWith("--") || place[3]) ? place[1]! : undefined;
  const said = option ? first.slice(place![0].length) : first;
  const sentence = said
    .split("; ")
    .filter((part, i) => i === 0 || !isTyped(part))
    .join("; ");
  const field = option ? (FIELDS[option] ?? sentenceCase(option)) : "";
  const where = place?.[3] ? `${place[2] ? `, line ${place[2]}` : ""}, column ${place[3]}` : "";
  return {
    message: [option ? `${field}${where}: ${sentence}` : sentenceCase(sentence), ...drawn].join("\n"),
    advice:
      sentences(advice ?? "")
        .filter((one) => !isTyped(one))
        .join(" ") || undefined,
    option,
    line: option && place?.[3] ? Number(place[2] ?? 1) : undefined,
    column: option && place?.[3] ? Number(place[3]) : undefined,
    ...suggested(said),
  };
}

function sentences(text: string): string[] {
  return text.split(/(?<=[.!?])\s+(?=\S)/).filter(Boolean);
}

/** A name of a file or a class at the beginning stays as it is. */
function sentenceCase(text: string): string {
  return /^[a-z]+[ ,]/.test(text) ? text[0]!.toUpperCase() + text.slice(1) : text;
}

function suggested(text: string): { wrong?: string; meant: string[] } {
  const found = /`([^`]+)`; did you mean (.+?)\?/.exec(text);
  if (!found) return { meant: [] };
  const meant = found[2]!.split(/, or |, | or /).map((name) => name.replaceAll("`", "").trim());
  return { wrong: found[1], meant };
}

/** A text with another word in place of a wrong one, which is at or after a line and a column (both from 1). */
export function corrected(
  text: string,
  at: { line?: number; column?: number },
  wrong: string,
  right: string,
): string {
  let start = (at.column ?? 1) - 1;
  for (const line of text.split("\n").slice(0, (at.line ?? 1) - 1)) start += line.length + 1;
  const found = text.indexOf(wrong, start);
  const place = found >= 0 ? found : text.indexOf(wrong);
  return place < 0 ? text : text.slice(0, place) + right + text.slice(place + wrong.length);
}
