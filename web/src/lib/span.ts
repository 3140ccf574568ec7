// A part of a stretch of time that is looked at: zoomed, moved, and as text in an address.

export interface Span {
  from: number;
  to: number;
}

/** So much of the whole is always in sight. */
const SMALLEST = 1 / 2000;

function within(span: Span, whole: Span): Span {
  const length = Math.min(span.to - span.from, whole.to - whole.from);
  const from = Math.min(Math.max(span.from, whole.from), whole.to - length);
  return { from, to: from + length };
}

/** A part that is `factor` times as long, in which `around` stays where it is. */
export function zoomed(span: Span, whole: Span, factor: number, around: number): Span {
  const least = (whole.to - whole.from) * SMALLEST;
  const length = Math.max(least, (span.to - span.from) * factor);
  const place = (around - span.from) / (span.to - span.from);
  const from = around - place * length;
  return within({ from, to: from + length }, whole);
}

/** The part that comes so much later, or earlier. */
export function moved(span: Span, whole: Span, by: number): Span {
  return within({ from: span.from + by, to: span.to + by }, whole);
}

export function isWhole(span: Span, whole: Span): boolean {
  return span.from <= whole.from && span.to >= whole.to;
}

/** `12.5-40`, in seconds; nothing for the whole. */
export function printSpan(span: Span, whole: Span): string {
  if (isWhole(span, whole)) return "";
  const seconds = (ns: number) => String(Math.round(ns / 1e6) / 1e3);
  return `${seconds(span.from)}-${seconds(span.to)}`;
}

export function parseSpan(text: string | undefined, whole: Span): Span {
  const [from, to] = (text ?? "").split("-").map(Number);
  if (from === undefined || to === undefined || !(from < to)) return whole;
  return within({ from: from * 1e9, to: to * 1e9 }, whole);
}
