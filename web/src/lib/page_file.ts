// A view as one HTML file for others: what is shown, of which file, and how to see it again. No script, nothing from
// elsewhere; texts of a heap are texts.

import { count } from "./format";
import type { Cell, Table } from "./table";
import { visible } from "./text";

export interface SharedView {
  title: string;
  /** Name of the dump or recording. */
  file: string;
  /** The state of a recording. */
  state?: string;
  /** The fragment of the address: `#/0/heap?by=type`. */
  address: string;
  /** Milliseconds since 1970. */
  time: number;
  table?: Table;
  /** A picture as a data URL. */
  image?: string;
}

const ESCAPES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const escaped = (text: string) => visible(text).replace(/[&<>"]/g, (c) => ESCAPES[c]!);

const STYLE = `:root { color-scheme: light dark; font: 13px/1.5 system-ui, sans-serif; }
body { max-width: 1200px; margin: 24px auto; padding: 0 20px; }
h1 { font-size: 18px; margin: 0; }
p { margin: 4px 0; overflow-wrap: anywhere; }
img { max-width: 100%; margin-top: 14px; }
table { border-collapse: collapse; margin-top: 14px; }
th, td { padding: 3px 10px; border-bottom: 1px solid #8884; text-align: left; overflow-wrap: anywhere; }
.n { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
code { overflow-wrap: anywhere; }
@media print { :root { color-scheme: light; } tr { break-inside: avoid; } }`;

function cell(value: Cell, tag: "td" | "th" = "td"): string {
  if (typeof value === "number") {
    const text = Number.isInteger(value) ? count(value) : value.toFixed(2);
    return `<${tag} class="n">${text}</${tag}>`;
  }
  return `<${tag}>${value === null || value === undefined ? "" : escaped(String(value))}</${tag}>`;
}

function tableOf(table: Table): string {
  const head = table.columns.map((column) => cell(column, "th")).join("");
  const rows = table.rows.map((row) => `<tr>${table.columns.map((_, i) => cell(row[i])).join("")}</tr>`);
  return `<table>\n<thead><tr>${head}</tr></thead>\n<tbody>\n${rows.join("\n")}\n</tbody>\n</table>`;
}

export function pageFile(view: SharedView): string {
  const title = `${view.title} – ${view.file}`;
  const facts = [view.file, ...(view.state ? [view.state] : []), new Date(view.time).toISOString()];
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title>
<style>
${STYLE}
</style>
</head>
<body>
<h1>${escaped(view.title)}</h1>
<p>${facts.map(escaped).join(" · ")}</p>
<p>To see it in Anthill, open the file with <code>anthill open</code> and go to <code>${escaped(view.address)}</code></p>
${view.image ? `<img alt="${escaped(view.title)}" src="${escaped(view.image)}">` : ""}
${view.table ? tableOf(view.table) : ""}
</body>
</html>
`;
}

/** Reads a picture as a data URL. */
export function dataUrl(image: Blob): Promise<string> {
  return new Promise((done, failed) => {
    const reader = new FileReader();
    reader.onload = () => done(String(reader.result));
    reader.onerror = () => failed(new Error("the picture cannot be read"));
    reader.readAsDataURL(image);
  });
}
