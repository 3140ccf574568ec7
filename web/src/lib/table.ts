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

function field(cell: Cell): string {
  const text = cell === null || cell === undefined ? "" : String(cell);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function json(table: Table): string {
  const objects = table.rows.map((row) =>
    Object.fromEntries(table.columns.map((column, i) => [column, row[i] ?? null])),
  );
  return JSON.stringify(objects, null, 2);
}
