import { expect, test } from "vitest";
import { byColumn, memoryTree, TreeModel, type TreeSource } from "./tree.svelte";

interface Row {
  name: string;
  size: number;
  below: Row[];
}
const row = (name: string, size: number, below: Row[] = []): Row => ({ name, size, below });
const shown = (model: TreeModel<Row>) =>
  model.lines.map((line) => (line.kind === "row" ? "  ".repeat(line.depth) + line.node.row.name : line.kind));
const at = (model: TreeModel<Row>, name: string) => {
  const line = model.lines.find((one) => one.kind === "row" && one.node.row.name === name);
  if (line?.kind !== "row") throw new Error(`${name} is not shown`);
  return line.node;
};

test("rows unfold and fold, in the order of a column", async () => {
  const top = [row("a", 1), row("b", 3, [row("b1", 1), row("b2", 2)])];
  const model = new TreeModel<Row>();
  await model.show(
    memoryTree(
      top,
      (r) => r.below,
      (r) => r.name,
      byColumn((r) => r.size, false),
    ),
    false,
  );
  expect(shown(model)).toEqual(["b", "a"]);
  await model.expand(at(model, "b"));
  expect(shown(model)).toEqual(["b", "  b2", "  b1", "a"]);
  expect(model.path(at(model, "b1")).map((node) => node.row.name)).toEqual(["b", "b1"]);

  await model.show(
    memoryTree(
      top,
      (r) => r.below,
      (r) => r.name,
      byColumn((r) => r.name, true),
    ),
    true,
  );
  await Promise.resolve();
  expect(shown(model)).toEqual(["a", "b", "  b1", "  b2"]);
  model.collapse(at(model, "b"));
  expect(shown(model)).toEqual(["a", "b"]);
});

test("pages come one after the other, and what fails can be tried again", async () => {
  let fails = true;
  const source: TreeSource<Row> = {
    async load(_, offset, limit) {
      if (offset > 0 && fails) throw new Error("away");
      const rows = Array.from({ length: Math.min(limit, 250 - offset) }, (_, i) => row(`r${offset + i}`, 0));
      return { rows, rest: 250 - offset - rows.length };
    },
    expandable: () => false,
    key: (r) => r.name,
  };
  const model = new TreeModel<Row>();
  await model.show(source, false);
  expect(model.lines).toHaveLength(201);
  expect(model.lines.at(-1)).toMatchObject({ kind: "more", rest: 50 });
  await model.more(null);
  expect(model.lines.at(-1)).toMatchObject({ kind: "more", failed: "away" });
  fails = false;
  await model.more(null);
  expect(model.lines).toHaveLength(250);
});

test("an answer that comes after another tree was asked for is not shown", async () => {
  let answer: (rows: Row[]) => void = () => undefined;
  const slow: TreeSource<Row> = {
    load: () => new Promise((resolve) => (answer = (rows) => resolve({ rows, rest: 0 }))),
    expandable: () => false,
    key: (r) => r.name,
  };
  const model = new TreeModel<Row>();
  const first = model.show(slow, false);
  await model.show(
    memoryTree(
      [row("new", 1)],
      () => [],
      (r) => r.name,
    ),
    false,
  );
  answer([row("old", 1)]);
  await first;
  expect(shown(model)).toEqual(["new"]);
});
