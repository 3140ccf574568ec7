// The forms in which the report can be saved.

export interface Form {
  title: string;
  note: string;
  extension: string;
  type: string;
  /** How the server calls the document; null for the answer itself. */
  document: string | null;
}

export const FORMS: Form[] = [
  {
    title: "HTML",
    note: "one file, to read, print or attach",
    extension: "html",
    type: "text/html",
    document: "report.html",
  },
  {
    title: "Markdown",
    note: "for a ticket",
    extension: "md",
    type: "text/markdown",
    document: "report.md",
  },
  { title: "JSON", note: "for programs", extension: "json", type: "application/json", document: null },
];

/** `app.hprof` becomes `app-report.html`. */
export function reportName(file: string, extension: string): string {
  const base = file.replace(/\.(hprof|trace|gz)$/i, "").replace(/\.hprof$/i, "");
  return `${base || "heap"}-report.${extension}`;
}
