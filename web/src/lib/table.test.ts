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

test("JSON has an object for each row", () => {
  expect(JSON.parse(json(table))).toEqual([
    { name: "a,b", bytes: 1 },
    { name: 'say "x"\n', bytes: null },
  ]);
});
