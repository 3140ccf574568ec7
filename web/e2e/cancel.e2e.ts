// Work that nobody waits for any more ends on the server: what was cancelled, what a closed tab asked for, the reading of a file.

import { type ChildProcess, spawn } from "node:child_process";
import { copyFileSync, linkSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { begin, close, open, type Opened, SOURCE, visit } from "./browser";

let opened: Opened;
beforeAll(async () => {
  opened = await open();
});
afterAll(close);

/** Processor time that a process has used, in seconds. */
function used(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ");
  const TICKS = 100;
  return (Number(fields[11]) + Number(fields[12])) / TICKS;
}

/** Waits until a process does nothing, and tells how much it has worked until then. */
async function idle(pid: number): Promise<number> {
  const before = used(pid);
  for (let last = before, quiet = 0; ;) {
    await new Promise((later) => setTimeout(later, 250));
    const now = used(pid);
    quiet = now - last < 0.05 ? quiet + 1 : 0;
    if (quiet === 4) return now - before;
    last = now;
  }
}

/** Seconds of processor time: much less than what a classification here would take to its end. */
const MUCH = 4;

/** A classification that keeps all cores busy for long: a loop for every object. No two are the same. */
const endless = (seed: number) =>
  `{ let n = address + ${seed}; for i in range(0, 900) { n += i % 7; } return n % 5; }`;
const heavy = (seed: number) => `#/${SOURCE.multicache}/heap?${new URLSearchParams({ by: endless(seed) })}`;

/** Asks for something and waits until the server works on it. */
async function work(page: Page, address: string): Promise<void> {
  const before = used(inject("server"));
  await page.evaluate((to) => {
    location.hash = to;
  }, address);
  while (used(inject("server")) < before + 0.5) await page.waitForTimeout(50);
  await page.getByRole("button", { name: "Cancel" }).first().waitFor();
}

test("a classification that is cancelled ends on the server", async () => {
  const { page, complaints } = opened;
  complaints.length = 0;
  await idle(inject("server"));
  await work(page, heavy(1));
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("alert").getByText("Cancelled").waitFor();
  expect(await idle(inject("server"))).toBeLessThan(MUCH);
  // The heap is as usable as before.
  await visit(page, `#/${SOURCE.multicache}/heap?by=kind`);
  await page.getByRole("treegrid").getByText("array").first().waitFor();
});

test("a tab that is closed takes its work along", async () => {
  const page = await opened.page.context().newPage();
  await begin(page, inject("address"));
  await work(page, heavy(2));
  await page.close();
  expect(await idle(inject("server"))).toBeLessThan(MUCH);
});

test("another view takes the work of the one before along", async () => {
  const { page } = opened;
  await work(page, heavy(3));
  await visit(page, `#/${SOURCE.multicache}/start`);
  expect(await idle(inject("server"))).toBeLessThan(MUCH);
});

test("the layers of a timeline can be cancelled", async () => {
  const { page } = opened;
  const query = new URLSearchParams({ by: endless(4) });
  await work(page, `#/${SOURCE.recording}/timeline?${query}`);
  await page.locator(".stacking").getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("alert").getByText("Cancelled").waitFor();
  expect(await idle(inject("server"))).toBeLessThan(MUCH);
  // The rest of the timeline is still there, and other layers can be had.
  await page.getByLabel("Presets").selectOption({ label: "Kind" });
  await page.getByRole("list", { name: "Layers" }).getByText("array").first().waitFor();
});

test("reading a file can be cancelled", async () => {
  const folder = mkdtempSync(join(tmpdir(), "anthill-cancel-"));
  let server: ChildProcess | undefined;
  try {
    // One is read after the other, so the last one is not there before the page is.
    const files = Array.from({ length: 40 }, (_, n) => join(folder, `${n}.hprof`));
    copyFileSync(inject("files").multicache, files[0]!);
    for (const file of files.slice(1)) linkSync(files[0]!, file);
    server = spawn(inject("program"), ["open", "--no-browser", ...files], {
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, XDG_CACHE_HOME: folder },
    });
    const lines = createInterface({ input: server.stdout! })[Symbol.asyncIterator]();
    const address = (await lines.next()).value as string;
    const page = await opened.page.context().newPage();
    page.setDefaultTimeout(60_000);
    await begin(page, address);
    const show = (source: number) =>
      page.evaluate((to) => {
        location.hash = to;
      }, `#/${source}/start`);
    for (const last of [39, 38]) {
      await show(last);
      await page.getByRole("progressbar").waitFor();
      await page.getByRole("button", { name: "Cancel" }).click();
    }
    await page.getByText("Reading was cancelled").waitFor();
    // The others are read all the same.
    await visit(page, "#/37/start");
    expect(await page.locator("main").innerText()).toMatch(/reachable/i);
    await show(39);
    await page.getByText("Reading was cancelled").waitFor();
    await page.close();
  } finally {
    server?.kill();
    rmSync(folder, { recursive: true, force: true });
  }
});
