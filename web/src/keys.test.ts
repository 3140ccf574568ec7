// Two rows of an answer may be equal in everything, and lists whose keys are equal cannot be drawn: rows of answers are
// known by their places. Other keys are those of lists that the pages make themselves.

import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

/** Lists that never come from a file, with what makes their keys unique. */
const OWN_LISTS = new Set([
  // Made by `pathGraph`, which has one node for each id and one edge for each pair of them.
  'drawing.edges as { edge, line, x, y } (edge.from + "\\u0000" + edge.to)',
  "drawing.nodes as { node, x, y, width, height } (node.id)",
  "columns as column (column.id)",
  // Lines by their place in the table.
  "virtual.items as item (item.index)",
  "tabs as tab (tab.id)",
  "options as option (option.id)",
  "EXAMPLES as [text, what] (text)",
  "EXAMPLES as [rule, what] (rule)",
  '["0", "1", "5", "10", "25"] as value (value)',
  "sections as [section, views] (section)",
  "views as view (view.id)",
  // The server counts its files.
  "dumps() as dump (dump.id)",
  "sources.list as other (other.id)",
  "KEYS as [keys, what] (keys)",
  "presets as one (one.by)",
  "FORMS as form (form.extension)",
  "LINES as line (line)",
  "NUMBERS as number (number.term)",
]);

const SOURCES = fileURLToPath(new URL(".", import.meta.url));

/** What stands in `{#each …}`, brackets within included. */
function lists(text: string): string[] {
  return text
    .split("{#each ")
    .slice(1)
    .map((rest) => {
      let depth = 1;
      let end = 0;
      while (depth > 0 && end < rest.length) {
        if (rest[end] === "{") depth += 1;
        else if (rest[end] === "}") depth -= 1;
        end += 1;
      }
      return rest.slice(0, end - 1).replace(/\s+/g, " ");
    });
}

test("the keys of lists are unique whatever is in a heap", () => {
  const files = readdirSync(SOURCES, { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".svelte"),
  );
  expect(files.length).toBeGreaterThan(40);
  const found = files.flatMap((file) =>
    lists(readFileSync(join(SOURCES, file), "utf8")).map((list) => ({ file, list })),
  );
  expect(found.length).toBeGreaterThan(60);
  const byPlace = (list: string) => /, (\w+) \(\1\)$/.test(list);
  expect(found.filter(({ list }) => !byPlace(list) && !OWN_LISTS.has(list))).toEqual([]);
});
