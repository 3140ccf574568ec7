import { expect, test } from "vitest";
import { boxAt, follow, layout, neighbour, parts, path, rows, search } from "./icicle";

interface Item {
  name: string;
  value: number;
  below?: Item[];
}
const read = {
  name: (item: Item) => item.name,
  value: (item: Item) => item.value,
  children: (item: Item) => item.below ?? [],
};
const tree = parts<Item>(
  {
    name: "all",
    value: 100,
    below: [
      { name: "small", value: 10 },
      {
        name: "main",
        value: 80,
        below: [
          { name: "load", value: 60, below: [{ name: "byte[]", value: 60 }] },
          { name: "save", value: 20, below: [{ name: "loader", value: 20 }] },
        ],
      },
      { name: "nothing", value: 0 },
    ],
  },
  read,
);
const drawn = (boxes: ReturnType<typeof layout<Item>>) =>
  boxes.map((box) => [box.part.name, box.row, box.x, box.width]).sort();

test("a part is as wide as its share, the largest first, with what is below it under it", () => {
  expect(drawn(layout(tree, 1000))).toEqual([
    ["all", 0, 0, 1000],
    ["byte[]", 3, 0, 600],
    ["load", 2, 0, 600],
    ["loader", 3, 600, 200],
    ["main", 1, 0, 800],
    ["save", 2, 600, 200],
    ["small", 1, 800, 100],
  ]);
  expect(rows(layout(tree, 1000))).toBe(4);
});

test("a part in focus has the whole width, and so has what leads to it", () => {
  const focus = follow(tree, ["main", "save"]);
  expect(drawn(layout(focus, 1000))).toEqual([
    ["all", 0, 0, 1000],
    ["loader", 3, 0, 1000],
    ["main", 1, 0, 1000],
    ["save", 2, 0, 1000],
  ]);
  expect(path(focus).map((part) => part.name)).toEqual(["all", "main", "save"]);
});

test("names that lead nowhere lead as far as they do", () => {
  expect(follow(tree, ["main", "gone", "x"]).name).toBe("main");
});

test("what could not be seen is not drawn", () => {
  expect(layout(tree, 20, 3).map((box) => box.part.name)).not.toContain("small");
});

test("children that overlap share the width of their parent", () => {
  const overlapping = parts<Item>(
    {
      name: "all",
      value: 50,
      below: [
        { name: "a", value: 50 },
        { name: "b", value: 50 },
      ],
    },
    read,
  );
  expect(drawn(layout(overlapping, 100)).slice(0, 2)).toEqual([
    ["a", 1, 0, 50],
    ["all", 0, 0, 100],
  ]);
});

test("arrows go to what is drawn beside, above and below", () => {
  const boxes = layout(tree, 1000);
  const at = (...names: string[]) => follow(tree, names);
  expect(neighbour(boxes, at("main", "load"), "right")).toBe(at("main", "save"));
  expect(neighbour(boxes, at("main", "save"), "right")).toBeUndefined();
  expect(neighbour(boxes, at("main"), "right")).toBe(at("small"));
  expect(neighbour(boxes, at("main"), "down")).toBe(at("main", "load"));
  expect(neighbour(boxes, at("main"), "up")).toBe(tree);
  expect(neighbour(boxes, tree, "up")).toBeUndefined();
  expect(boxAt(boxes, 650, 2)?.part.name).toBe("save");
  expect(boxAt(boxes, 950, 1)).toBeUndefined();
});

test("what is found below something found counts once", () => {
  const { found, value } = search(tree, "LOAD");
  expect([...found].map((part) => part.name).sort()).toEqual(["load", "loader"]);
  expect(value).toBe(80);
  expect(search(tree, "main").value).toBe(80);
  expect(search(tree, " ").found.size).toBe(0);
});
