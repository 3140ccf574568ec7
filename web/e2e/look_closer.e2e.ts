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
  expect(await page.locator(".title").innerText()).toContain("user 999990");
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
