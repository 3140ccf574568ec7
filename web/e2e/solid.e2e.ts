// The pages when something goes wrong, takes long, or is narrow: nothing is silent, stale or out of reach.

import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { cli, close, open, type Opened, settled, SOURCE, visit } from "./browser";
import { line } from "./setup";

let opened: Opened;
beforeAll(async () => {
  opened = await open();
  opened.page.setDefaultTimeout(20_000);
});
afterAll(close);

const { multicache, recording, growing } = SOURCE;
const PRODUCTS = "anthill.samples.Product";

test("a view that fails says so and offers a report, and the others work", async () => {
  const { page, complaints } = opened;
  await page.route("**/sources/*/threads*", (request) => request.fulfill({ json: { exact: true, rows: 5 } }));
  await visit(page, `#/${multicache}/threads`);
  const alert = page.getByRole("alert");
  await alert.getByText("This part of the page failed.").waitFor();
  await page.evaluate(() => Object.defineProperty(navigator, "clipboard", { value: undefined }));
  const [saved] = await Promise.all([
    page.waitForEvent("download"),
    alert.getByRole("button", { name: "Copy report" }).click(),
  ]);
  const report = readFileSync(await saved.path(), "utf8");
  const version = cli<{ anthill: { version: string } }>("summary", inject("files").multicache).anthill
    .version;
  for (const part of [`Anthill ${version}`, `#/${multicache}/threads`, "TypeError"])
    expect(report).toContain(part);
  expect(report).not.toContain("token");

  await visit(page, `#/${multicache}/histogram`);
  expect(await page.getByRole("alert").count()).toBe(0);
  await page.unroute("**/sources/*/threads*");
  await page.reload();
  await visit(page, `#/${multicache}/threads`);
  expect(await page.getByRole("alert").count()).toBe(0);
  complaints.length = 0;
});

test("figures of one group are never shown as those of another", async () => {
  const { page } = opened;
  await visit(page, `#/${multicache}/group?g=${PRODUCTS}`);
  const sizes = page.getByRole("region", { name: "Sizes" });
  expect(await sizes.innerText()).toContain("20,000");
  let answer = () => {};
  const held = new Promise<void>((go) => (answer = go));
  await page.route("**/inspect?*", async (request) => {
    await held;
    await request.continue();
  });
  await page.evaluate((to) => {
    location.hash = to;
  }, `#/${multicache}/group?g=java.lang.Thread`);
  await sizes.waitFor({ state: "detached", timeout: 2000 });
  await page.getByRole("status").getByRole("button", { name: "Cancel" }).waitFor();
  answer();
  await sizes.waitFor();
  await page.unroute("**/inspect?*");
  expect(await sizes.innerText()).not.toContain("20,000");
});

test("a request that fails says so where its result is missing, and can be tried again", async () => {
  const { page, complaints } = opened;
  const failing = { status: 500, json: { error: { message: "the disk is full", advice: null } } };
  await page.route("**/classifiers*", (request) => request.fulfill(failing));
  await visit(page, `#/${multicache}/heap?by=kind`);
  await page.reload();
  await settled(page);
  const alert = page.getByRole("alert");
  expect(await alert.innerText()).toContain("The disk is full");
  await page.unroute("**/classifiers*");
  await alert.getByRole("button", { name: "Try again" }).click();
  await alert.waitFor({ state: "detached" });
  complaints.length = 0;
});

test("a server that is away is missed", async () => {
  const options = ["open", "--no-browser", inject("files").growing[0]!];
  const server = spawn(inject("program"), options, { stdio: ["ignore", "pipe", "inherit"] });
  try {
    const other = await open("light", await line(server, /^http/));
    await visit(other.page, "#/0/histogram");
    server.kill();
    await other.page.getByRole("alert").getByText("The server does not respond").waitFor();
    // What is there already stays.
    await other.page.getByRole("treegrid", { name: "Histogram" }).waitFor();
    await other.page.context().close();
  } finally {
    server.kill();
  }
});

test("an address that is pasted over this one brings its token", async () => {
  const { page, complaints } = opened;
  await visit(page, `#/${multicache}/histogram`);
  await page.evaluate(() => sessionStorage.setItem("anthill.token", "of-another-run"));
  await page.reload();
  await page.getByRole("alert").getByText("token").waitFor();
  const pasted = new URL(inject("address")).hash;
  await Promise.all([
    page.waitForEvent("load"),
    page.evaluate((hash) => {
      location.hash = hash;
    }, pasted),
  ]);
  await page.getByRole("treegrid", { name: "Histogram" }).waitFor();
  expect(page.url()).toContain(`#/${multicache}/histogram`);
  complaints.length = 0;
});

test("a list of steps that is not complete leaves the table, and a wrong word is corrected by a click", async () => {
  const { page } = opened;
  const table = page.getByRole("treegrid", { name: "Classification tree" });
  await visit(page, `#/${multicache}/heap?by=kind`);
  const rows = await table.getByRole("row").count();
  await visit(page, `#/${multicache}/heap?by=kind%2C+to+references`);
  await page.getByText("needs a classifier after it").waitFor();
  expect(await page.getByRole("alert").count()).toBe(0);
  expect(await table.getByRole("row").count()).toBe(rows);
  await page.getByText("The rows below are of kind").waitFor();

  await visit(page, `#/${multicache}/heap?by=lenght`);
  expect(await page.getByRole("alert").innerText()).not.toContain("--by");
  await page.getByRole("button", { name: "Use length" }).click();
  await page.waitForFunction(() => location.hash.includes("by=length"));
  await settled(page);
  expect(await page.getByRole("alert").count()).toBe(0);

  await visit(page, `#/${multicache}/group?${new URLSearchParams({ g: "where(siz > 1K)" })}`);
  await page.getByRole("button", { name: "Use size" }).click();
  await page.waitForFunction(() => decodeURIComponent(location.hash).includes("size"));
  await page.getByRole("region", { name: "Sizes" }).waitFor();
});

test("typing searches and completes", async () => {
  const { page } = opened;
  await visit(page, `#/${multicache}/strings`);
  await page.keyboard.press("/");
  await page.keyboard.type("java.");
  await page.waitForFunction(() => location.hash.includes("text=java."));
  await settled(page);
  for (const name of await page.getByRole("treegrid").locator(".name").allInnerTexts())
    expect(name.toLowerCase()).toContain("java.");

  await page.keyboard.press("Control+k");
  await page.keyboard.type("produc");
  const option = page.getByRole("option", { name: PRODUCTS });
  await option.waitFor();
  await option.click();
  await page.getByRole("region", { name: "Sizes" }).waitFor();
  expect(await page.title()).toBe(`${PRODUCTS} · Group inspection · multicache.hprof · Anthill`);
});

test("shares are of the heap", async () => {
  const { page } = opened;
  const { reachable } = cli<{ reachable: { shallow: number } }>("summary", inject("files").multicache);
  const { structures } = cli<{ structures: { retained: number }[] }>(
    "structures",
    inject("files").multicache,
    "--limit",
    "1",
  );
  const share = `${((100 * structures[0]!.retained) / reachable.shallow).toFixed(1)}%`;
  await visit(page, `#/${multicache}/structures`);
  await page.getByRole("treegrid").getByRole("row").nth(1).getByText(share, { exact: true }).waitFor();
  // The largest of small objects is not 100 %.
  await visit(page, `#/${multicache}/group?g=java.lang.Thread&tab=objects`);
  expect(await page.getByRole("treegrid").innerText()).not.toContain("100%");
});

test("dumps of different programs are no growth unless somebody wants it", async () => {
  const { page } = opened;
  await visit(page, `#/${multicache}/growth?tab=diff&dumps=${multicache},${growing}`);
  await page.getByText("These dumps are of different programs.").waitFor();
  expect(await page.getByRole("treegrid").count()).toBe(0);
  await page.getByRole("button", { name: "Compare all" }).click();
  await page.getByRole("treegrid", { name: "Differences" }).waitFor();
  await visit(page, `#/${growing}/growth?tab=diff&dumps=3,4,5`);
  await page.getByRole("treegrid", { name: "Differences" }).waitFor();
  // A structure that grew leads to its head in the last dump.
  await visit(page, `#/${growing}/growth?dumps=3,4,5`);
  await page.locator("article h2 a").first().click();
  await page.waitForFunction(() => location.hash.startsWith("#/5/object?"));
  await settled(page);
  expect(await page.getByRole("alert").count()).toBe(0);
});

test("answers travel compressed to whoever takes that", async () => {
  const { origin, hash } = new URL(inject("address"));
  const authorization = `Bearer ${/token=([^&]+)/.exec(hash)![1]}`;
  const url = `${origin}/api/v1/sources/${multicache}/histogram`;
  const packed = await fetch(url, { headers: { authorization, "accept-encoding": "gzip" } });
  const plain = await fetch(url, { headers: { authorization, "accept-encoding": "identity" } });
  expect([packed.headers.get("content-encoding"), plain.headers.get("content-encoding")]).toEqual([
    "gzip",
    null,
  ]);
  expect(await packed.json()).toEqual(await plain.json());
});

const NARROW: [string, string][] = [
  ["start", `#/${multicache}/start`],
  ["heap state", `#/${multicache}/heap?by=package%2C+type`],
  ["dominators", `#/${multicache}/dominators`],
  ["structures", `#/${multicache}/structures`],
  ["owners", `#/${multicache}/group?g=${PRODUCTS}`],
  ["paths", `#/${multicache}/group?g=${PRODUCTS}&tab=paths`],
  ["object", `#/${multicache}/object`],
  ["threads", `#/${multicache}/threads`],
  ["class loaders", `#/${multicache}/loaders`],
  ["strings", `#/${multicache}/strings`],
  ["waste", `#/${multicache}/waste`],
  ["assertions", `#/${multicache}/assertions`],
  ["timeline", `#/${recording}/timeline`],
  ["growth", `#/${recording}/growth`],
  ["born, died, survived", `#/${recording}/growth?tab=diff`],
];

test.each([
  ["a phone", 420, 800],
  ["a window at 200 %", 640, 400],
])("%s shows every view without moving it sideways", async (_, width, height) => {
  const { page } = opened;
  await page.setViewportSize({ width, height });
  await page.reload();
  const wide: string[] = [];
  for (const [name, address] of NARROW) {
    await visit(page, address);
    const sticking = await page.evaluate(() => {
      const main = document.getElementById("main")!;
      const page = main.querySelector(".page") ?? main;
      return Math.max(document.documentElement.scrollWidth - innerWidth, page.scrollWidth - page.clientWidth);
    });
    if (sticking > 1) wide.push(`${name}: ${sticking} px`);
    // Nothing that one works with is squeezed to nothing.
    for (const grid of await page.getByRole("treegrid").all())
      expect((await grid.boundingBox())!.height, name).toBeGreaterThan(100);
  }
  await page.setViewportSize({ width: 1280, height: 800 });
  expect(wide).toEqual([]);
});
