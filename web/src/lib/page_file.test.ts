import { expect, test } from "vitest";
import { pageFile } from "./page_file";

const view = {
  title: "Strings",
  file: "a<b>.hprof",
  state: "#3",
  address: "#/0/strings?text=%3Cscript%3E",
  time: Date.UTC(2026, 0, 2, 3, 4, 5),
  table: {
    columns: ["text", "copies"],
    rows: [
      ['<script>alert("x")</script>\n', 1200],
      [null, 2.5],
    ],
  },
};

test("a view is one file that says what it is and how to see it again", () => {
  const page = pageFile(view);
  expect(page).toContain("<h1>Strings</h1>");
  expect(page).toContain("a&lt;b&gt;.hprof · #3 · 2026-01-02T03:04:05.000Z");
  expect(page).toContain("<code>#/0/strings?text=%3Cscript%3E</code>");
  expect(page).toContain('<td class="n">1,200</td>');
  expect(page).toContain('<tr><td></td><td class="n">2.50</td></tr>');
});

test("texts of a heap are no markup", () => {
  const page = pageFile({ ...view, image: 'data:image/png;base64,AA"onerror="x' });
  expect(page).toContain("&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;⏎");
  expect(page).not.toContain("<script");
  expect(page).toContain('src="data:image/png;base64,AA&quot;onerror=&quot;x"');
});

test("there need be no table", () => {
  expect(pageFile({ ...view, table: undefined, state: undefined })).not.toContain("<table");
});
