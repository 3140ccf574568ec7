// The leak of two caches, from the start to the two static fields, by clicks only; and the same by keys.

import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { close, count, cli, open, type Opened, settled, visit } from "./browser";

let opened: Opened;
beforeAll(async () => {
  opened = await open();
});
afterAll(close);

test("clicks lead from the start to the two static fields", async () => {
  const { page, complaints } = opened;
  await settled(page);
  const card = page.locator("article").first();
  expect(await card.innerText()).toContain("anthill.samples.Product");
  await card.getByRole("link", { name: /What keeps the .* objects alive/ }).click();
  await settled(page);
  await page.getByRole("tab", { name: "Owners and roots" }).click();
  const front = page.locator("article", { hasText: "2 owners" });
  await front.waitFor();
  const text = await front.innerText();
  expect(text).toContain("static field anthill.samples.IdCache.idCache");
  expect(text).toContain("static field anthill.samples.NameCache.nameCache");
  expect(text).toContain("100% of the group");

  await front.getByRole("link", { name: "Inspect" }).click();
  await settled(page);
  const owners = new URL(page.url()).hash;
  const group = decodeURIComponent(/g=([^&]*)/.exec(owners)![1]!.replaceAll("+", " "));
  const told = cli<{ retained_objects: number; objects: number }>(
    "inspect",
    inject("files").multicache,
    group,
  );
  expect(told.objects).toBe(2);
  const sizes = await page.getByRole("region", { name: "Sizes" }).innerText();
  expect(sizes).toContain(`${count(told.retained_objects)} objects`);
  expect(complaints).toEqual([]);
});

test("back and forward go the same way", async () => {
  const { page } = opened;
  await page.goBack();
  await page.locator("article", { hasText: "2 owners" }).waitFor();
  await page.goForward();
  await settled(page);
  expect(await page.getByRole("combobox", { name: "Group", exact: true }).inputValue()).toMatch(
    /^0x[0-9a-f]+ \| 0x[0-9a-f]+$/,
  );
});

test("keys lead to a row and into it", async () => {
  const { page, complaints } = opened;
  await page.keyboard.press("Control+k");
  await page.keyboard.type("heap state");
  await page.keyboard.press("Enter");
  await settled(page);
  await page.keyboard.press("/");
  await page.keyboard.type("samples.Product");
  await page.keyboard.press("Enter");
  await settled(page);
  const table = page.getByRole("treegrid", { name: "Classification tree" });
  await table.focus();
  await page.keyboard.press("Home");
  await page.keyboard.press("Enter");
  await settled(page);
  expect(page.url()).toContain("group?g=anthill.samples.Product");
  expect(complaints).toEqual([]);
});

test("several rows are one group", async () => {
  const { page } = opened;
  await visit(page, "#/0/heap?by=type");
  const table = page.getByRole("treegrid", { name: "Classification tree" });
  await table.focus();
  for (const key of ["Home", "Space", "ArrowDown", "Space"]) await page.keyboard.press(key);
  await page.getByRole("link", { name: "Inspect as one group" }).click();
  await settled(page);
  const rows = cli<{ tree: { children: { key: string }[] } }>(
    "classify",
    inject("files").multicache,
    "--limit",
    "2",
  );
  const group = await page.getByRole("combobox", { name: "Group", exact: true }).inputValue();
  expect(group).toBe(rows.tree.children.map((child) => child.key).join(" | "));
});
