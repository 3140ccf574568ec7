// Makes the pictures of docs/web again: `npm run screenshots`, or some of them with `npm run screenshots -- -t NAME`.

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { close, open, settled, visit } from "./browser";
import { png, type Picture } from "./png";
import { compile, dump, line, PROGRAM, recordEachStep, recordOrders, start } from "./setup";

const PICTURES = fileURLToPath(new URL("../../docs/web/", import.meta.url));
// Dumps contain names of directories, so this one is the same on every machine.
const FOLDER = join(tmpdir(), "anthill-screens");
const PRODUCTS = "g=anthill.samples.Product";

let server: ChildProcess | undefined;
let address: string;

beforeAll(async () => {
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER);
  process.chdir(FOLDER);
  process.env.XDG_CACHE_HOME = FOLDER;
  compile(FOLDER);
  const multicache = join(FOLDER, "multicache.hprof");
  execFileSync(PROGRAM, ["demo", "--save", multicache], { stdio: "ignore" });
  const waste = await dumped("waste", "anthill.samples.Waste", "1000");
  const threads = await dumped("import", "Importer");
  const recording = await recordEachStep(FOLDER, join(FOLDER, "growth.trace"));
  const orders = await recordOrders(FOLDER, join(FOLDER, "orders.trace"), 12);
  server = spawn(PROGRAM, ["open", "--no-browser", multicache, recording, waste, threads, orders], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  address = await line(server, /^http/);
});

afterAll(async () => {
  await close();
  server?.kill();
  rmSync(FOLDER, { recursive: true, force: true });
});

async function dumped(name: string, ...program: string[]): Promise<string> {
  const child = await start(FOLDER, ...program);
  const file = dump(child, join(FOLDER, `${name}.hprof`));
  child.stdin!.end();
  return file;
}

/** Makes one picture of a view, after some steps on it. */
function picture(
  name: string,
  hash: string,
  steps: (page: Page) => Promise<void> = async () => {},
  theme: "light" | "dark" = "light",
): void {
  test(name, async () => {
    const { page, complaints } = await open(theme, address);
    page.setDefaultTimeout(20_000);
    await visit(page, hash);
    await steps(page);
    await settled(page);
    await page.evaluate(() => document.fonts.ready);
    // What has been clicked no longer looks as if the mouse was over it.
    await page.mouse.move(1279, 799);
    await page.waitForTimeout(500);
    expect(await page.getByRole("alert").count()).toBe(0);
    expect(complaints).toEqual([]);
    const shot = await page.screenshot({ animations: "disabled" });
    writeFileSync(join(PICTURES, `${name}.png`), png(await pixels(page, shot)));
    await page.context().close();
  });
}

/** The browser reads its own picture. */
async function pixels(page: Page, shot: Buffer): Promise<Picture> {
  const blank = await page.context().newPage();
  const read = await blank.evaluate(async (encoded) => {
    const bytes = Uint8Array.from(atob(encoded), (char) => char.charCodeAt(0));
    const image = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
    const { width, height } = image;
    const canvas = new OffscreenCanvas(width, height).getContext("2d")!;
    canvas.drawImage(image, 0, 0);
    const { data } = canvas.getImageData(0, 0, width, height);
    let text = "";
    for (let i = 0; i < data.length; i += 0x8000)
      text += String.fromCharCode(...data.subarray(i, i + 0x8000));
    return { width, height, data: btoa(text) };
  }, shot.toString("base64"));
  return { ...read, data: Buffer.from(read.data, "base64") };
}

const row = (page: Page, name: RegExp) => page.getByRole("row", { name }).first();

async function expand(page: Page, name: RegExp): Promise<void> {
  await row(page, name).getByRole("button", { name: "Expand" }).click();
  await settled(page);
}

async function palette(page: Page, text: string): Promise<void> {
  await page.keyboard.press("Control+k");
  await page.keyboard.type(text);
  await settled(page);
}

picture("start", "#/0/start");

picture("heap", "#/0/heap?by=type%2C+pointed-from%2C+type", async (page) => {
  await expand(page, /anthill\.samples\.Product/);
  await expand(page, /int\[\]/);
  await row(page, /int\[\]/).click({ modifiers: ["Control"] });
});

picture("editor", "#/0/heap?by=type", async (page) => {
  await page.getByRole("button", { name: "+ Add step" }).click();
  await page.keyboard.type("expression");
  await page.keyboard.press("Enter");
  await page.getByLabel("Expression, condition or script").waitFor();
});

picture("group", `#/0/group?${PRODUCTS}`);

picture("paths", `#/0/group?${PRODUCTS}&tab=paths&collapse=0`, async (page) => {
  await page.getByRole("button", { name: "static idCache" }).click();
  await page.getByText(/references? cut/).waitFor();
  const smaller = page.getByRole("button", { name: "Zoom out" });
  await smaller.press("Enter");
  await smaller.blur();
  // The click has moved the graph.
  await page.evaluate(() => document.querySelectorAll("main *").forEach((one) => (one.scrollTop = 0)));
});

picture("definitions", "#/0/group?g=IdCache.idCache+%7C+NameCache.nameCache", async (page) => {
  await palette(page, "your definitions");
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog", { name: "Your definitions" });
  await dialog
    .getByLabel("Definitions", { exact: true })
    .fill(
      "# What both caches hold.\n" +
        "group caches = IdCache.idCache | NameCache.nameCache\n" +
        "group lost = anthill.samples.Product - reached(caches)\n\n" +
        "# Small, medium and large objects.\n" +
        'classifier magnitude = size < 100 ? "small" : size < 10K ? "medium" : "large"\n',
    );
  // There is no mistake in it.
  await dialog.getByRole("button", { name: "Save", exact: true }).click();
  await dialog.waitFor({ state: "hidden" });
  await visit(page, "#/0/group?g=caches");
  await palette(page, "your definitions");
  await page.keyboard.press("Enter");
  await dialog.waitFor();
});

picture("object", "#/0/start", async (page) => {
  await page
    .locator("article")
    .getByRole("link", { name: /HashMap/ })
    .first()
    .click();
  await page.getByRole("region", { name: "Entries" }).waitFor();
});

picture("timeline", "#/1/timeline?by=closest-root");
picture("evolution", "#/1/growth?tab=diff");
picture("growth", "#/1/growth");
picture("dominators", "#/0/dominators", undefined, "dark");
picture("icicle", "#/0/dominators?form=icicle");
picture("allocations", "#/4/allocations");
picture("allocations-change", "#/4/allocations?from=%231&show=change", undefined, "dark");
picture("notes", "#/0/start", async (page) => {
  const panel = page.getByRole("complementary", { name: "Notes" });
  const text = panel.getByRole("textbox", { name: /^Note on/ });
  await page.getByRole("button", { name: "Add a note" }).first().click();
  await text.fill("Both caches hold the same products. Does anything still look up by name?");
  await panel.getByRole("button", { name: "Save" }).click();
  await page.getByRole("button", { name: "Your note" }).waitFor();
  await visit(page, `#/0/group?${PRODUCTS}`);
  await panel.getByRole("button", { name: "Bookmark" }).click();
  await panel.getByRole("button", { name: "Delete", exact: true }).waitFor();
  await panel.getByRole("textbox").blur();
});

picture("structures", "#/0/structures");
picture("waste", "#/2/waste");
picture("threads", "#/3/threads", (page) => expand(page, /import-1/));
picture("loaders", "#/0/loaders");
picture("strings", "#/2/strings?text=name");
picture("histogram", "#/0/histogram");

const RULES = [
  "at most 1000 instances of anthill.samples.Product",
  "retained of anthill.samples.Product at most 64 MB",
];
picture("assertions", `#/0/assertions?${new URLSearchParams({ rules: RULES.join("\n") })}`);

picture("palette", "#/0/heap?by=type", (page) => palette(page, "group"));
