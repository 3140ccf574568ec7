import { expect, test } from "vitest";
import { find } from "./palette";

const command = (title: string, words = "") => ({ title, words, note: "view", run: () => undefined });
const all = [
  command("Start", "overview"),
  command("Heap state", "classify tree"),
  command("Strings"),
  command("Dominators", "tree treemap"),
];
const titles = (text: string) => find(all, text).map((one) => one.title);

test("all words must occur, beginnings of titles come first", () => {
  expect(titles("st")).toEqual(["Start", "Strings", "Heap state"]);
  expect(titles("tree heap")).toEqual(["Heap state"]);
  expect(titles("nothing")).toEqual([]);
  expect(titles(" ")).toHaveLength(4);
});
