import { expect, test, vi } from "vitest";

vi.mock("./theme.svelte", () => ({ colour: () => "black" }));
const { lines, numeric } = await import("./table_image");

test("an image has the first rows, numbers as people read them, and says how many are missing", () => {
  const rows = Array.from({ length: 60 }, (_, i) => [`row ${i}`, 1000 * i, null]);
  const table = { columns: ["name", "bytes", "mark"], rows };
  const drawn = lines(table);
  expect(drawn.rows).toHaveLength(50);
  expect(drawn.rows[2]).toEqual(["row 2", "2,000", ""]);
  expect(drawn.rest).toBe("and 10 more");
  expect(numeric(table)).toEqual([false, true, false]);
});

test("long and disturbing texts are cut and made visible", () => {
  const [[text]] = lines({ columns: ["text"], rows: [["a\u202e".repeat(60)]] }).rows as [[string]];
  expect(text.endsWith("…")).toBe(true);
  expect(text).not.toContain("\u202e");
});
