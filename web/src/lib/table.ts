// Rows as CSV and JSON, for the clipboard and for files.

export type Cell = string | number | boolean | null | undefined;

export interface Table {
  columns: string[];
  rows: Cell[][];
}

export function csv(table: Table): string {
  const line = (cells: Cell[]) => cells.map(field).join(",");
  return [line(table.columns), ...table.rows.map(line)].join("\r\n") + "\r\n";
}

/** Texts that a spreadsheet would take for a formula. */
const FORMULA = /^[=+\-@\t\r]/;

function field(cell: Cell): string {
  let text = cell === null || cell === undefined ? "" : String(cell);
  // An apostrophe makes it a text again; numbers stay numbers.
  if (typeof cell === "string" && FORMULA.test(text)) text = `'${text}`;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function json(table: Table): string {
  const objects = table.rows.map((row) =>
    Object.fromEntries(table.columns.map((column, i) => [column, row[i] ?? null])),
  );
  return JSON.stringify(objects, null, 2);
}
