// Every view on heap dumps of real programs and of the corpus: none fails, complains, or waits for ever.

import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { close, open, type Opened } from "./browser";
import { corpusDumps, realDumps, realRecording } from "./programs";
import { line } from "./setup";

/** Pages at work at the same time, each on a dump of its own. */
const PAGES = 3;
/** A view of a small heap that is not there after so long waits for ever. */
const PATIENCE_MS = 20_000;
/** Enough to tell of several views that wait for ever. */
const LONGEST_MS = 600_000;

const folder = mkdtempSync(join(tmpdir(), "anthill-real-"));
let server: ChildProcess | undefined;
let address: string;
let real: string[];
let recording: string | null;
const corpus = corpusDumps();

beforeAll(async () => {
  real = await realDumps(folder);
  recording = await realRecording(folder);
  const files = [...real, ...corpus, ...(recording ? [recording] : [])];
  server = spawn(inject("program"), ["open", "--no-browser", ...files], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, XDG_CACHE_HOME: folder },
  });
  address = await line(server, /^http/);
});
afterAll(async () => {
  await close();
  server?.kill();
  rmSync(folder, { recursive: true, force: true });
});

const query = (view: string, params: Record<string, string>) => `${view}?${new URLSearchParams(params)}`;

/** Views with other choices than those that the bar at the side leads to. */
const MORE = [
  query("heap", { by: "package, type" }),
  query("heap", { by: "loader, type" }),
  query("heap", { by: "type, pointed-from, type" }),
  query("heap", { by: "containing-structure, type" }),
  query("histogram", { by: "package" }),
  query("histogram", { by: "loader" }),
  query("structures", { parts: "1" }),
  query("dominators", { form: "tree" }),
  query("assertions", { rules: "at most 1 instances of java.lang.String" }),
];

/** What the server says about a source. */
async function told<T>(source: number, question: string, params: Record<string, string>): Promise<T> {
  const { origin, hash } = new URL(address);
  const authorization = `Bearer ${/token=([^&]+)/.exec(hash)![1]}`;
  const url = `${origin}/api/v1/sources/${source}/${query(question, params)}`;
  const response = await fetch(url, { headers: { authorization } });
  expect(response.status, url).toBe(200);
  return (await response.json()) as T;
}

/** Views of what is in this heap: kinds of waste, its largest class, its largest objects, some objects of classes. */
async function ofHeap(source: number, classes: string[]): Promise<string[]> {
  interface Item {
    address: string | null;
    children: Item[];
  }
  interface Rows<R> {
    rows: R[];
  }
  const { kinds } = await told<{ kinds: { kind: string; rows: object[] }[] }>(source, "waste", {});
  const { tree } = await told<{ tree: Item }>(source, "dominators", { limit: "3", depth: "1" });
  const largest = await told<Rows<{ class: string }>>(source, "histogram", { limit: "1", sort: "retained" });
  const objects = tree.children.flatMap((item) => item.address ?? []);
  for (const name of classes) {
    const some = await told<Rows<{ address: string }>>(source, "objects", { class: name, limit: "1" });
    const standing = `class_objects(${JSON.stringify(name)})`;
    const loaded = await told<Rows<{ address: string }>>(source, "objects", { group: standing, limit: "1" });
    objects.push(...[...some.rows, ...loaded.rows].map((row) => row.address));
  }
  const groups = [`class(${JSON.stringify(largest.rows[0]!.class)})`, objects.slice(0, 2).join(" | ")];
  const tabs = ["owners", "paths", "retained", "reached", "objects"];
  return [
    ...kinds.filter((kind) => kind.rows.length > 0).map(({ kind }) => query("waste", { kind })),
    ...tabs.map((tab) => query("group", { g: groups[0]!, tab })),
    ...(groups[1] ? [query("group", { g: groups[1] })] : []),
    ...objects.map((address) => query("object", { address })),
    ...objects
      .slice(0, 2)
      .flatMap((g) => [
        query("references", { g, dir: "outgoing" }),
        query("references", { g, form: "graph" }),
      ]),
    query("references", { g: groups[0]!, rows: "merged" }),
  ];
}

/** Goes to a view and waits until nothing is asked any more; tells what went wrong in it. */
async function look({ page, complaints }: Opened, hash: string): Promise<string[]> {
  complaints.length = 0;
  let asked = 0;
  const more = () => (asked += 1);
  const less = () => (asked -= 1);
  page.on("request", more);
  page.on("requestfinished", less);
  page.on("requestfailed", less);
  const late = Date.now() + PATIENCE_MS;
  await page.evaluate((to) => {
    location.hash = to;
  }, hash);
  let quiet = 0;
  let waits: string | null = null;
  while (quiet < 2 && Date.now() < late) {
    await page.waitForTimeout(25);
    waits = await page.evaluate(
      () => document.querySelector(".waiting, .reading, [aria-busy=true]")?.textContent?.trim() ?? null,
    );
    quiet = asked <= 0 && waits === null ? quiet + 1 : 0;
  }
  page.off("request", more);
  page.off("requestfinished", less);
  page.off("requestfailed", less);
  const alerts = await page.getByRole("alert").allInnerTexts();
  // The browser notes that there is nothing of what was asked for, which the view says in its place.
  const errors = complaints.filter((one) => !/status of 404/.test(one));
  return [...errors, ...alerts, ...(quiet < 2 ? [`waits for ever: ${waits}`] : [])];
}

/** The views that the bar at the side lists. */
async function listedViews(opened: Opened, source: number): Promise<string[]> {
  await look(opened, `#/${source}/start`);
  const hashes = await opened.page
    .getByRole("navigation", { name: "Views" })
    .getByRole("link")
    .evaluateAll((links) => links.map((link) => (link as HTMLAnchorElement).hash));
  const views = hashes.map((hash) => hash.split("/")[2]!);
  expect(views).toContain("histogram");
  // Over time, all open dumps would be one series.
  return source === recordingAt() ? views : views.filter((view) => !["timeline", "growth"].includes(view));
}

/** The recording is opened last. */
const recordingAt = () => (recording ? real.length + corpus.length : -1);

interface Part {
  file: string;
  source: number;
  views: string[];
  classes: string[];
}

/** Opens views of dumps, some dumps at a time, and tells what went wrong by dump and view. */
async function sweep(parts: Part[]): Promise<Record<string, string[]>> {
  const wrong: Record<string, string[]> = {};
  const left = [...parts];
  let seen = 0;
  const work = async () => {
    const opened = await open("light", address);
    for (let part = left.shift(); part; part = left.shift()) {
      const listed = await listedViews(opened, part.source);
      for (const view of [...listed, ...part.views, ...(await ofHeap(part.source, part.classes))]) {
        seen += 1;
        const found = await look(opened, `#/${part.source}/${view}`);
        if (found.length)
          (wrong[basename(part.file)] ??= []).push(...found.map((what) => `${view}: ${what}`));
      }
    }
    await opened.page.context().close();
  };
  await Promise.all(Array.from({ length: PAGES }, work));
  expect(seen).toBeGreaterThan(18 * parts.length);
  return wrong;
}

test(
  "every view of real programs' heaps",
  async () => {
    const parts = real.map((file, source) => ({
      file,
      source,
      views: MORE,
      classes: basename(file).startsWith("clones")
        ? ["Clones$Shrunk", "Clones$Lowest", "Clones$Tenant", "java.util.HashMap"]
        : ["java.util.HashMap", "java.lang.Thread"],
    }));
    expect(await sweep(parts)).toEqual({});
  },
  LONGEST_MS,
);

test(
  "every view of a recording of a real program",
  async () => {
    if (!recording) return;
    const views = [
      query("timeline", { by: "package" }),
      query("growth", { tab: "diff" }),
      query("start", { at: "#1" }),
      query("heap", { by: "allocation-site, type", at: "#1" }),
    ];
    expect(await sweep([{ file: recording, source: recordingAt(), views, classes: [] }])).toEqual({});
  },
  LONGEST_MS,
);

test.skipIf(corpus.length === 0)(
  "every view of the corpus",
  async () => {
    const parts = corpus.map((file, i) => ({
      file,
      source: real.length + i,
      views: MORE.slice(0, 1),
      classes: [],
    }));
    expect(await sweep(parts)).toEqual({});
  },
  LONGEST_MS,
);
