// Rows as an image, for where a picture says more than text: drawn on a canvas in the colours of the page.

import { count } from "./format";
import type { Cell, Table } from "./table";
import { cut, visible } from "./text";
import { colour } from "./theme.svelte";

/** An image is to be looked at: the first rows, and of long texts their beginnings. */
const MOST_ROWS = 50;
const MOST_CHARACTERS = 70;
const LINE = 24;
const GAP = 18;
const MARGIN = 16;
/** Pixels of the image for one of the page. */
const SCALE = 2;

function shown(cell: Cell): string {
  if (cell === null || cell === undefined) return "";
  if (typeof cell === "number") {
    return Number.isInteger(cell) ? count(cell) : cell.toLocaleString("en-US", { maximumFractionDigits: 2 });
  }
  const text = String(cell);
  return visible(cut(text, MOST_CHARACTERS)) + (text.length > MOST_CHARACTERS ? "…" : "");
}

/** What stands in the image: a line of titles, the first rows, and how many are not there. */
export function lines(table: Table): { titles: string[]; rows: string[][]; rest: string } {
  const more = table.rows.length - MOST_ROWS;
  return {
    titles: table.columns.map(shown),
    rows: table.rows.slice(0, MOST_ROWS).map((row) => table.columns.map((_, i) => shown(row[i]))),
    rest: more > 0 ? `and ${count(more)} more` : "",
  };
}

/** By column: whether it has numbers, which end at the same place. */
export function numeric(table: Table): boolean[] {
  return table.columns.map((_, i) => {
    const cells = table.rows.map((row) => row[i]).filter((cell) => cell !== null && cell !== undefined);
    return cells.length > 0 && cells.every((cell) => typeof cell === "number");
  });
}

export async function tableImage(table: Table): Promise<Blob | null> {
  const { titles, rows, rest } = lines(table);
  const canvas = document.createElement("canvas");
  const pen = canvas.getContext("2d");
  if (!pen || rows.length === 0) return null;
  const plain = '13px "Inter Variable", sans-serif';
  const bold = `600 ${plain}`;
  const wide = (text: string, font: string) => {
    pen.font = font;
    return pen.measureText(text).width;
  };
  const widths = titles.map((title, i) =>
    Math.ceil(Math.max(wide(title, bold), ...rows.map((row) => wide(row[i] ?? "", plain)))),
  );
  const width = widths.reduce((sum, one) => sum + one + GAP, 2 * MARGIN - GAP);
  const height = 2 * MARGIN + LINE * (1 + rows.length + (rest ? 1 : 0));
  canvas.width = width * SCALE;
  canvas.height = height * SCALE;
  pen.scale(SCALE, SCALE);
  pen.fillStyle = colour("surface");
  pen.fillRect(0, 0, width, height);
  pen.textBaseline = "middle";
  const ends = numeric(table);
  const write = (cells: string[], line: number) => {
    let x = MARGIN;
    cells.forEach((cell, i) => {
      pen.textAlign = ends[i] ? "right" : "left";
      pen.fillText(cell, ends[i] ? x + widths[i]! : x, MARGIN + LINE * (line + 0.5));
      x += widths[i]! + GAP;
    });
  };
  pen.font = bold;
  pen.fillStyle = colour("muted");
  write(titles, 0);
  pen.fillRect(MARGIN, MARGIN + LINE - 1, width - 2 * MARGIN, 1);
  pen.font = plain;
  pen.fillStyle = colour("text");
  rows.forEach((row, i) => write(row, i + 1));
  pen.fillStyle = colour("muted");
  if (rest) write([rest], rows.length + 1);
  return new Promise((made) => canvas.toBlob(made, "image/png"));
}
