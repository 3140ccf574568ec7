// What a person does in tables: opens and selects rows, sorts and resizes by keys, comes back to what was left, scrolls far.

import { afterAll, beforeAll, expect, test } from "vitest";
import { close, open, type Opened, settled, SOURCE, visit } from "./browser";

let opened: Opened;
beforeAll(async () => {
  opened = await open();
});
afterAll(close);

const { multicache } = SOURCE;
const grid = (name: string) => opened.page.getByRole("treegrid", { name });
/** The names of the rows of a table that are selected, unfolded, under the cursor. */
async function state(name: string) {
  return grid(name).evaluate((table) => {
    const text = (row: Element | null) => row?.querySelector(".name")?.textContent?.trim() ?? null;
    const all = (selector: string) => [...table.querySelectorAll(selector)].map(text);
    const cursor = document.getElementById(table.getAttribute("aria-activedescendant") ?? "");
    return {
      selected: all("[aria-selected=true]"),
      unfolded: all("[aria-expanded=true]"),
      cursor: text(cursor),
      scroll: Math.round(table.scrollTop),
      focused: table.contains(document.activeElement),
    };
  });
}

test("back shows the heap state as it was left", async () => {
  const { page } = opened;
  // So low that there is something to scroll.
  await page.setViewportSize({ width: 1280, height: 480 });
  await visit(page, `#/${multicache}/heap?by=package%2C+type`);
  const table = grid("Classification tree");
  await table.focus();
  for (const key of ["Home", "ArrowRight"]) await page.keyboard.press(key);
  await table.locator("[aria-level='2']").first().waitFor();
  for (const key of ["ArrowDown", "ArrowRight"]) await page.keyboard.press(key);
  await table.locator("[aria-level='3'], [aria-level='2']").nth(3).waitFor();
  await table.getByText("loading…").waitFor({ state: "detached" });
  for (const key of ["ArrowDown", "Space", "ArrowDown", "Space", "ArrowDown", "ArrowDown"])
    await page.keyboard.press(key);
  await table.evaluate((element) => (element.scrollTop = 60));
  const before = await state("Classification tree");
  expect(before.selected).toHaveLength(2);
  expect(before.unfolded.length).toBeGreaterThan(0);
  expect(before.scroll).toBe(60);

  await page.keyboard.press("Enter");
  await page.waitForFunction(() => location.hash.includes("/group?"));
  await settled(page);
  await page.goBack();
  await settled(page);
  await page.waitForFunction(() => document.querySelector("[role=treegrid]")!.scrollTop > 0);
  await expect.poll(() => state("Classification tree")).toEqual(before);
  await page.setViewportSize({ width: 1280, height: 800 });
  // What comes next begins anew.
  await visit(page, `#/${multicache}/heap?by=kind`);
  expect((await state("Classification tree")).selected).toEqual([]);
});

test("back shows the dominator tree as it was left", async () => {
  const { page } = opened;
  await visit(page, `#/${multicache}/dominators?form=tree`);
  const table = grid("Dominator tree");
  await table.focus();
  for (const key of ["Home", "ArrowRight"]) await page.keyboard.press(key);
  await table.locator("[aria-level='2']").first().waitFor();
  // Some rows are many objects and lead nowhere.
  do {
    await page.keyboard.press("ArrowDown");
    await settled(page);
  } while ((await table.locator(".active a.name").count()) === 0);
  const before = await state("Dominator tree");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => location.hash.includes("/object?"));
  await settled(page);
  await page.goBack();
  await table.locator("[aria-level='2']").first().waitFor();
  await settled(page);
  await expect.poll(() => state("Dominator tree")).toEqual(before);
});

test("back shows a page where one left it, at the link that one followed", async () => {
  const { page } = opened;
  await page.setViewportSize({ width: 1280, height: 400 });
  await visit(page, `#/${multicache}/start`);
  const link = page.getByRole("region", { name: "Largest classes" }).getByRole("link").last();
  await link.scrollIntoViewIfNeeded();
  const state = () =>
    page.evaluate(() => ({
      scroll: Math.round(document.querySelector(".page")!.scrollTop),
      link: document.activeElement?.getAttribute("href"),
    }));
  await link.focus();
  const before = await state();
  expect(before.scroll).toBeGreaterThan(0);
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => location.hash.includes("/group?"));
  await settled(page);
  await page.goBack();
  await settled(page);
  await expect.poll(state).toEqual(before);
  await page.setViewportSize({ width: 1280, height: 800 });
});

test("a click opens a row, its arrow turns, and with Ctrl it is selected", async () => {
  const { page } = opened;
  await visit(page, `#/${multicache}/heap?by=package%2C+type`);
  const row = grid("Classification tree").getByRole("row").nth(1);
  const arrow = row.getByRole("button", { name: "Expand" });
  const turned = () =>
    row.locator(".twist svg").evaluate((svg) => getComputedStyle(svg).transform !== "none");
  expect(await turned()).toBe(false);
  await arrow.click();
  await row.getByRole("button", { name: "Collapse" }).waitFor();
  await expect.poll(turned).toBe(true);
  await row.getByRole("button", { name: "Collapse" }).click();
  await expect.poll(turned).toBe(false);

  await row.click({ modifiers: ["Control"], position: { x: 700, y: 12 } });
  expect(await row.getAttribute("aria-selected")).toBe("true");
  expect(page.url()).toContain("/heap?");
  await row.click({ position: { x: 700, y: 12 } });
  await page.waitForFunction(() => location.hash.includes("/group?"));
});

test("keys reach the buttons of a row", async () => {
  const { page } = opened;
  await visit(page, `#/${multicache}/dominators?form=tree`);
  const table = grid("Dominator tree");
  await table.focus();
  await page.keyboard.press("Home");
  while ((await table.locator(".active a.name").count()) === 0) await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Shift+Enter");
  const button = table.locator(".active").getByRole("button", { name: "from here" });
  expect(await button.evaluate((element) => element === document.activeElement)).toBe(true);
  await page.keyboard.press("Escape");
  expect(await table.evaluate((element) => element === document.activeElement)).toBe(true);
  await page.keyboard.press("Shift+Enter");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => location.hash.includes("object="));
});

test("keys sort and resize, and widths stay", async () => {
  const { page } = opened;
  await visit(page, `#/${multicache}/histogram`);
  const title = grid("Histogram").getByRole("columnheader", { name: "Objects" });
  await title.getByRole("button", { name: "Objects" }).focus();
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => location.hash.includes("sort=objects"));
  expect(await title.getAttribute("aria-sort")).toBe("descending");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => location.hash.includes("order=up"));
  expect(await title.getAttribute("aria-sort")).toBe("ascending");

  const width = async () => Math.round((await title.boundingBox())!.width);
  const first = await width();
  await page.keyboard.press("Alt+ArrowLeft");
  await expect.poll(width).toBe(first + 16);
  const edge = (await title.getByRole("separator").boundingBox())!;
  await page.mouse.move(edge.x + 2, edge.y + 8);
  await page.mouse.down();
  await page.mouse.move(edge.x - 38, edge.y + 8, { steps: 3 });
  await page.mouse.up();
  await expect.poll(width).toBe(first + 56);
  await page.reload();
  await settled(page);
  expect(await width()).toBe(first + 56);
  await title.getByRole("separator").dblclick();
  await expect.poll(width).toBe(first);
});

test("a hundred thousand rows scroll smoothly", async () => {
  const { page } = opened;
  await visit(page, `#/${multicache}/heap?by=address`);
  const table = grid("Classification tree");
  const rows = async () => Number(await table.getAttribute("aria-rowcount"));
  const patience = Date.now() + 90_000;
  while ((await rows()) < 100_000 && Date.now() < patience) {
    await table.evaluate((element) => (element.scrollTop = element.scrollHeight));
    await page.waitForTimeout(20);
  }
  expect(await rows()).toBeGreaterThan(100_000);
  // Work of the page for a step of scrolling; the rest of a frame is the browser's.
  const { slowest, typical, drawn } = await table.evaluate(async (element) => {
    const frame = () => new Promise((next) => requestAnimationFrame(next));
    const times: number[] = [];
    for (let step = 0; step < 120; step++) {
      // A turn of the wheel, far from both ends.
      element.scrollTop = element.scrollHeight / 2 + step * 130;
      await frame();
      const start = performance.now();
      element.dispatchEvent(new Event("scroll"));
      // Forces what the scrolling changed.
      void (element.querySelector(".lines") as HTMLElement).offsetHeight;
      await Promise.resolve();
      times.push(performance.now() - start);
    }
    times.sort((a, b) => a - b);
    return {
      slowest: times.at(-3)!,
      typical: times[60]!,
      drawn: element.querySelectorAll("[role=row]").length,
    };
  });
  expect(drawn).toBeLessThan(100);
  expect(typical).toBeLessThan(8);
  expect(slowest).toBeLessThan(50);
});
