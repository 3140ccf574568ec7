// Lists of classification steps: `type, pointed-from, where size > 1K`. Splits and joins them, and finds the step
// that a mistake is in.

/** The steps of a list, split at the commas between them, not at those within brackets, quotes and braces. */
export function splitSteps(list: string): string[] {
  const steps: string[] = [];
  let depth = 0;
  let quote = "";
  let start = 0;
  for (let i = 0; i < list.length; i++) {
    const c = list[i]!;
    if (quote) {
      if (c === "\\") i += 1;
      else if (c === quote) quote = "";
    } else if (c === '"' || c === "'") quote = c;
    else if ("([{".includes(c)) depth += 1;
    else if (")]}".includes(c)) depth -= 1;
    else if (c === "," && depth <= 0) {
      steps.push(list.slice(start, i).trim());
      start = i + 1;
    }
  }
  steps.push(list.slice(start).trim());
  return steps.filter((step) => step !== "");
}

export function joinSteps(steps: string[]): string {
  return steps.join(", ");
}

export interface Place {
  step: number;
  line: number;
  column: number;
}

/** Where a line and a column (both from 1) of the joined list are: the step, and the place within it. */
export function locate(steps: string[], line: number, column: number): Place | null {
  const lines = joinSteps(steps).split("\n");
  if (line < 1 || line > lines.length) return null;
  let offset = column - 1;
  for (let i = 0; i < line - 1; i++) offset += lines[i]!.length + 1;
  let start = 0;
  for (const [step, text] of steps.entries()) {
    const end = start + text.length;
    if (offset <= end || step === steps.length - 1) {
      const before = text.slice(0, Math.max(0, offset - start)).split("\n");
      return { step, line: before.length, column: before[before.length - 1]!.length + 1 };
    }
    start = end + 2;
  }
  return null;
}

/** Whether a step is written by a person and not just a name with arguments. */
export function isExpression(step: string): boolean {
  return !/^[\p{L}_][\p{L}\p{N}_-]*(\([^()]*\))?$/u.test(step);
}

/** Moves a step to another place. */
export function move(steps: string[], from: number, to: number): string[] {
  const moved = [...steps];
  const [step] = moved.splice(from, 1);
  if (step !== undefined) moved.splice(Math.max(0, Math.min(moved.length, to)), 0, step);
  return moved;
}
