import { expect, test } from "vitest";
import { csv, json } from "./table";

const table = {
  columns: ["name", "bytes"],
  rows: [
    ["a,b", 1],
    ['say "x"\n', null],
  ],
};

test("CSV puts in quotes what needs them", () => {
  expect(csv(table)).toBe('name,bytes\r\n"a,b",1\r\n"say ""x""\n",\r\n');
});

test("what a spreadsheet would take for a formula stays a text", () => {
  const hostile = ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "plain", "a=b"];
  const rows = csv({ columns: ["text"], rows: hostile.map((text) => [text]) });
  expect(rows.split("\r\n").slice(1, -1)).toEqual([
    "'=1+1",
    "'+1",
    "'-1",
    "'@SUM(A1)",
    "'\tx",
    "plain",
    "a=b",
  ]);
  // Numbers are no texts.
  expect(csv({ columns: ["n"], rows: [[-5]] })).toBe("n\r\n-5\r\n");
});

test("JSON has an object for each row", () => {
  expect(JSON.parse(json(table))).toEqual([
    { name: "a,b", bytes: 1 },
    { name: 'say "x"\n', bytes: null },
  ]);
});
