// Tasks with a single object: entries of a map of a million.

import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { cli, close, open, type Opened, settled, visit } from "./browser";
import { compile, dump, line, start } from "./setup";

const ENTRIES = 1_000_000;
const folder = mkdtempSync(join(tmpdir(), "anthill-closer-"));
const file = join(folder, "large_map.hprof");
let server: ChildProcess | undefined;
let opened: Opened;

beforeAll(async () => {
  compile(folder);
  const program = await start(folder, "anthill.samples.LargeMap", String(ENTRIES));
  dump(program, file);
  program.stdin!.end();
  server = spawn(inject("program"), ["open", "--no-browser", file], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, XDG_CACHE_HOME: folder },
  });
  opened = await open("light", await line(server, /^http/));
});
afterAll(async () => {
  await close();
  server?.kill();
  rmSync(folder, { recursive: true, force: true });
});

/** The largest object of a class. */
function largest(name: string): string {
  const options = ["--class", name, "--sort", "retained", "--limit", "1"];
  return cli<{ rows: { address: string }[] }>("objects", file, ...options).rows[0]!.address;
}

test("every entry of a map of a million is shown, and found by its key", async () => {
  const { page, complaints } = opened;
  complaints.length = 0;
  const map = largest("java.util.HashMap");
  await visit(page, `#/0/object?address=${map}`);
  const entries = page.getByRole("region", { name: "Entries" });
  await entries.getByText("1,000,000", { exact: true }).waitFor();
  // The first rows are the command line's.
  interface Entries {
    elements: { key: { object: { label: string } } }[];
  }
  const told = cli<Entries>("elements", file, map, "--limit", "5").elements;
  const rows = entries.getByRole("row");
  for (const [at, { key }] of told.entries())
    expect(key.object.label).toContain((await rows.nth(at + 1).innerText()).split("\n")[0]);
  await entries.getByRole("searchbox").fill("user 99999");
  await entries.getByText("11 of 1,000,000 match").waitFor();
  await settled(page);
  const found = await entries.getByRole("gridcell").allInnerTexts();
  expect(found).toContain('"user 999990"');
  // An address describes the page: what is searched is in it.
  expect(await page.evaluate(() => location.hash)).toContain("find=user+99999");
  await entries.getByText('"user 999990"').click();
  await page.getByText("String", { exact: false }).first().waitFor();
  await settled(page);
  expect(await page.locator(".head > .title").innerText()).toContain("user 999990");
  expect(complaints).toEqual([]);
});

test("an array is shown by index, with its gaps", async () => {
  const { page, complaints } = opened;
  complaints.length = 0;
  await visit(page, `#/0/object?address=${largest("java.lang.Integer[]")}`);
  const elements = page.getByRole("region", { name: "Elements" });
  await elements.getByText("10,000", { exact: true }).waitFor();
  await elements.getByRole("searchbox").fill("10099");
  await elements.getByText("1 of 10,000 match").waitFor();
  await settled(page);
  const row = await elements.getByRole("row").nth(1).innerText();
  expect(row.split(/\s+/)).toEqual(expect.arrayContaining(["1009900", "9,900"]));
  expect(complaints).toEqual([]);
});

/** The rows of a table, cell by cell, as soon as there are so many. */
async function cells(label: string, least: number): Promise<string[][]> {
  const { page } = opened;
  const table = page.getByRole("treegrid", { name: label });
  await page.waitForFunction(
    ([name, n]) => {
      const rows = [...document.querySelectorAll(`[aria-label="${name}"] [role=row][aria-level]`)];
      return rows.length >= Number(n) && !rows.some((row) => row.textContent?.includes("loading…"));
    },
    [label, least],
  );
  await settled(page);
  const rows = await table.getByRole("row").all();
  return Promise.all(rows.slice(1).map((row) => row.getByRole("gridcell").allInnerTexts()));
}

test("references are followed to their end, and an address shows the same again", async () => {
  const { page, complaints } = opened;
  complaints.length = 0;
  const map = largest("java.util.HashMap");
  await visit(page, `#/0/references?g=${map}&dir=outgoing`);
  const [top, table] = await cells("References", 2);
  expect(top![0]).toContain(map);
  interface Told {
    rows: { via: string; retained: number; address: string }[];
  }
  const told = cli<Told>("references", file, map).rows;
  expect(table![0]).toContain("table");
  expect(table![0]).toContain(told[0]!.address);
  // Unfolded one level further, with the keyboard.
  await page.getByRole("treegrid", { name: "References" }).focus();
  for (const key of ["Home", "ArrowDown", "ArrowRight"]) await page.keyboard.press(key);
  expect((await cells("References", 10))[2]![0]).toMatch(/\[\d+\]/);
  const address = await page.evaluate(() => location.hash);
  expect(address).toContain("open=table");
  await visit(page, "#/0/histogram");
  await visit(page, address);
  expect((await cells("References", 10))[2]![0]).toMatch(/\[\d+\]/);
  // Another start leaves a trail that leads back.
  await page.getByRole("row", { name: /table/ }).hover();
  await page.getByRole("button", { name: "start from here" }).first().click();
  const trail = page.getByRole("navigation", { name: "Trail" });
  await trail.getByRole("button", { name: "HashMap" }).click();
  expect((await cells("References", 2))[0]![0]).toContain(map);
  expect(await trail.count()).toBe(0);
  expect(complaints).toEqual([]);
});

test("references of a million objects are merged by class and field", async () => {
  const { page, complaints } = opened;
  complaints.length = 0;
  const group = "retained(anthill.samples.LargeMap.users) & java.lang.String";
  await visit(page, `#/0/references?${new URLSearchParams({ g: group, rows: "merged" })}`);
  const rows = await cells("References", 2);
  expect(rows[0]![0]).toContain("1,000,000");
  expect(rows[1]![0]).toMatch(/key.*1,000,000 × java.util.HashMap\$Node/s);
  expect(complaints).toEqual([]);
});

test("a graph unfolds one node at a time", async () => {
  const { page, complaints } = opened;
  complaints.length = 0;
  const map = largest("java.util.HashMap");
  await visit(page, `#/0/references?g=${map}&form=graph`);
  const nodes = page.getByRole("group", { name: "References as a graph" }).locator("g.node");
  // The map, and the class whose static field has it.
  await nodes.nth(1).waitFor();
  expect(await nodes.count()).toBe(2);
  await nodes.filter({ hasText: "LargeMap" }).click();
  await page.waitForFunction(() => document.querySelectorAll("g.node").length > 2);
  await page.getByRole("button", { name: "Start from here" }).click();
  await page.getByRole("navigation", { name: "Trail" }).getByText("HashMap").waitFor();
  expect(complaints).toEqual([]);
});

test("what counts is chosen in one place, kept in the address, and as the command line counts", async () => {
  const { page, complaints } = opened;
  complaints.length = 0;
  await visit(page, "#/0/heap?by=type");
  await page.getByRole("button", { name: "What counts" }).click();
  const menu = page.locator("#counting-menu");
  await menu.getByLabel("weak").check();
  await menu.getByLabel("include unreachable objects").check();
  await page.keyboard.press("Escape");
  await settled(page);
  expect(await page.evaluate(() => location.hash)).toMatch(/keep=soft%2Cweak.*unreachable=1/);
  const options = ["--by", "type", "--keep", "soft,weak", "--unreachable", "--limit", "3"];
  interface Told {
    tree: { children: { key: string; objects: number; retained: number }[] };
  }
  const told = cli<Told>("classify", file, ...options).tree.children;
  const rows = await cells("Classification tree", 3);
  expect(rows.slice(0, 3).map((row) => row[1]?.split("\n")[0]?.trim())).toEqual(
    told.map((node) => node.objects.toLocaleString("en-US")),
  );
  // It goes along to other views.
  await page.getByRole("navigation", { name: "Views" }).getByRole("link", { name: "Histogram" }).click();
  await page.getByRole("button", { name: "What counts soft, weak" }).waitFor();
  expect(complaints).toEqual([]);
});

test("the pages of groups and objects begin with something to look at", async () => {
  const { page, complaints } = opened;
  complaints.length = 0;
  const map = largest("java.util.HashMap");
  for (const view of ["object", "group", "references"]) {
    await visit(page, `#/0/${view}`);
    const largestOnes = page.locator("section", { hasText: "Largest data structures" }).last();
    await largestOnes.getByRole("link").first().waitFor();
    expect(await largestOnes.getByRole("link").first().getAttribute("href")).toContain(map);
  }
  await visit(page, "#/0/object");
  await page.getByRole("heading", { name: "Recently looked at" }).waitFor();
  expect(complaints).toEqual([]);
});
