// Numbers as people read them. Sizes are 1024-based, as in the tables of the commands.

const UNITS = ["KB", "MB", "GB", "TB"];

export function bytes(value: number): string {
  const sign = value < 0 ? "−" : "";
  let size = Math.abs(value);
  if (size < 1024) return `${sign}${size} B`;
  let unit = -1;
  do {
    size /= 1024;
    unit += 1;
  } while (size >= 999.95 && unit < UNITS.length - 1);
  return `${sign}${size.toFixed(size >= 99.95 ? 0 : 1)} ${UNITS[unit]}`;
}

export function count(value: number): string {
  return value.toLocaleString("en-US");
}

export function percent(share: number): string {
  if (share === 0) return "0%";
  if (share < 0.05) return "<0.1%";
  return `${share.toFixed(share >= 99.95 ? 0 : 1)}%`;
}

export function share(part: number, whole: number): number {
  return whole > 0 ? (100 * part) / whole : 0;
}

/** A change with its sign: +1.2 MB. */
export function signed(value: number, format: (n: number) => string): string {
  return value > 0 ? `+${format(value)}` : value < 0 ? `−${format(-value)}` : format(0);
}

/** Nanoseconds: 12 ms, 3.4 s, 2m30s, 1h05m. */
export function duration(ns: number): string {
  if (ns === 0) return "0 s";
  const ms = ns / 1e6;
  if (ms < 1) return `${(ns / 1e3).toFixed(0)} µs`;
  if (ms < 1000) return `${ms < 10 ? ms.toFixed(1) : ms.toFixed(0)} ms`;
  const seconds = ms / 1000;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const minutes = Math.floor(seconds / 60);
  const two = (n: number) => String(Math.floor(n)).padStart(2, "0");
  if (minutes < 60) return `${minutes}m${two(seconds % 60)}s`;
  return `${Math.floor(minutes / 60)}h${two(minutes % 60)}m`;
}

export function moment(ms: number): string {
  return new Date(ms).toISOString().replace("T", " ").slice(0, 16) + " UTC";
}

/** `1 object`, `2 objects`. */
export function plural(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}
