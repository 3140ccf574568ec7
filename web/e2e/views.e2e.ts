// Every view on real heaps: its numbers are the command line's, nothing complains, everybody can use it.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { AxeResults } from "axe-core";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { cli, close, count, open, type Opened, settled, SOURCE, visit } from "./browser";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

let opened: Opened;
beforeAll(async () => {
  opened = await open();
});
afterAll(close);

const { multicache, recording, hostile, growing, long, orders } = SOURCE;
const VIEWS: [string, string][] = [
  ["start", `#/${multicache}/start`],
  ["start of a recording", `#/${recording}/start`],
  ["groups to begin with", `#/${multicache}/group`],
  ["heap state", `#/${multicache}/heap?by=package%2C+type`],
  ["histogram", `#/${multicache}/histogram`],
  ["dominators", `#/${multicache}/dominators`],
  ["dominators as an icicle", `#/${multicache}/dominators?form=icicle`],
  ["heap state as an icicle", `#/${multicache}/heap?by=package%2C+type&form=icicle`],
  ["structures", `#/${multicache}/structures`],
  ["owners", `#/${multicache}/group?g=anthill.samples.Product`],
  ["paths as a graph", `#/${multicache}/group?g=anthill.samples.Product&tab=paths`],
  ["paths as a tree", `#/${multicache}/group?g=anthill.samples.Product&tab=paths&form=tree`],
  ["GC closure", `#/${multicache}/group?g=anthill.samples.Product&tab=retained`],
  ["objects", `#/${multicache}/group?g=anthill.samples.Product&tab=objects`],
  ["references", `#/${multicache}/references?g=anthill.samples.Product&rows=merged`],
  ["references as a graph", `#/${multicache}/references?g=anthill.samples.IdCache.idCache&form=graph`],
  ["where to begin with objects", `#/${multicache}/object`],
  ["threads", `#/${multicache}/threads`],
  ["class loaders", `#/${multicache}/loaders`],
  ["strings", `#/${hostile}/strings?text=script`],
  ["waste", `#/${multicache}/waste`],
  ["assertions", `#/${multicache}/assertions?rules=at+most+1+instances+of+anthill.samples.Product`],
  ["timeline", `#/${recording}/timeline`],
  ["a long timeline", `#/${long}/timeline?by=kind`],
  ["growth over a long recording", `#/${long}/growth`],
  ["differences in a long recording", `#/${long}/growth?tab=diff`],
  ["timeline of dumps", `#/${growing}/timeline?dumps=3,4,5`],
  ["allocations", `#/${orders}/allocations`],
  ["allocations compared", `#/${orders}/allocations?from=%231&show=change`],
  ["allocations by site", `#/${orders}/allocations?order=sites`],
  ["allocations as a table", `#/${orders}/allocations?form=table`],
  ["growth", `#/${recording}/growth`],
  ["born, died, survived", `#/${recording}/growth?tab=diff`],
  ["growth of dumps", `#/${growing}/growth?dumps=3,4,5`],
  ["differences of dumps", `#/${growing}/growth?tab=diff&dumps=3,4,5`],
];

async function broken(): Promise<string[]> {
  // Not as a script element: the content security policy forbids foreign ones, as it should.
  await opened.page.evaluate(AXE);
  const results = await opened.page.evaluate(async () => {
    const axe = (window as unknown as { axe: { run(options: object): Promise<AxeResults> } }).axe;
    return axe.run({ resultTypes: ["violations"] });
  });
  return results.violations.flatMap((one) =>
    one.nodes.map((node) => `${one.id}: ${node.html.slice(0, 200)}`),
  );
}

test.each(VIEWS)("%s is shown, usable and quiet", async (_, address) => {
  opened.complaints.length = 0;
  await visit(opened.page, address);
  expect(await opened.page.getByRole("alert").count()).toBe(0);
  expect(await opened.page.locator("main").innerText()).toMatch(/\d/);
  expect(opened.complaints).toEqual([]);
  expect(await broken()).toEqual([]);
});

test("objects are shown, usable and quiet", async () => {
  opened.complaints.length = 0;
  for (const name of ["java.util.HashMap", "java.lang.Thread", "anthill.samples.Product"]) {
    const found = cli<{ rows: { address: string }[] }>(
      "objects",
      inject("files").multicache,
      "--limit=1",
      `--class=${name}`,
    );
    const { address } = found.rows[0]!;
    await visit(opened.page, `#/${multicache}/object?address=${address}`);
    expect(await broken()).toEqual([]);
  }
  expect(opened.complaints).toEqual([]);
});

test("colours are enough in the dark, too", async () => {
  const light = opened;
  opened = await open("dark");
  const wrong: Record<string, string[]> = {};
  for (const [name, address] of VIEWS) {
    await visit(opened.page, address);
    const found = await broken();
    if (found.length) wrong[name] = found;
  }
  await opened.page.context().close();
  opened = light;
  expect(wrong).toEqual({});
});

/** The texts of the rows of a table. */
async function rows(name: string): Promise<string[][]> {
  const found = await opened.page.getByRole("treegrid", { name }).getByRole("row").all();
  const texts = [];
  for (const row of found.slice(1)) texts.push(await row.getByRole("gridcell").allInnerTexts());
  return texts;
}

interface Node {
  key: string;
  objects: number;
  children?: Node[];
}

test("a classification has the command line's rows and numbers", async () => {
  await visit(opened.page, `#/${multicache}/heap?by=type`);
  const told = cli<{ tree: Node }>("classify", inject("files").multicache, "--limit", "10").tree.children!;
  const shown = await rows("Classification tree");
  expect(shown.slice(0, 10).map((row) => row[0]?.split("\n")[0])).toEqual(told.map((node) => node.key));
  expect(shown.slice(0, 10).map((row) => row[1]?.split("\n")[0]?.trim())).toEqual(
    told.map((node) => count(node.objects)),
  );
});

test("rows unfold to the command line's", async () => {
  await visit(opened.page, `#/${multicache}/heap?by=package%2C+type`);
  const table = opened.page.getByRole("treegrid", { name: "Classification tree" });
  await table.focus();
  await opened.page.keyboard.press("Home");
  await opened.page.keyboard.press("ArrowRight");
  await settled(opened.page);
  const told = cli<{ tree: Node }>("classify", inject("files").multicache, "--by", "package,type").tree
    .children![0]!;
  await opened.page.waitForFunction(
    (n) => document.querySelectorAll("[aria-level='2']").length >= n,
    told.children!.length,
  );
  const shown = await opened.page.locator("[aria-level='2']").allInnerTexts();
  expect(shown.map((text) => text.split("\n")[0])).toEqual(told.children!.map((node) => node.key));
});

test("a search finds rows at every level and unfolds what leads to them", async () => {
  const { page } = opened;
  await visit(page, `#/${multicache}/heap?by=package%2C+type&search=samples.prod`);
  const table = page.getByRole("treegrid", { name: "Classification tree" });
  await table
    .getByRole("row", { name: /Product/ })
    .first()
    .waitFor();
  interface Found {
    key: string;
    children?: Found[];
  }
  const found = cli<{ tree: Found }>(
    "classify",
    inject("files").multicache,
    "--by=package,type",
    "--search=SAMPLES.PROD",
  );
  const keys: string[] = [];
  const walk = (node: Found) => node.children?.forEach((child) => (keys.push(child.key), walk(child)));
  walk(found.tree);
  expect(keys).toEqual(["anthill", "samples", "anthill.samples.Product"]);
  await page.waitForFunction(
    (n) => document.querySelectorAll("[role=treegrid] [role=row]").length === n + 1,
    keys.length,
  );
  expect((await rows("Classification tree")).map((row) => row[0]?.split("\n")[0])).toEqual(keys);
});

test("rows are copied as an image", async () => {
  const { page } = opened;
  await visit(page, `#/${multicache}/histogram`);
  // Without a clipboard it becomes a file.
  await page.evaluate(() => Object.defineProperty(navigator, "clipboard", { value: undefined }));
  await page.getByRole("button", { name: "Copy" }).click();
  const [saved] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Rows as an image" }).click(),
  ]);
  const bytes = readFileSync(await saved.path());
  expect(bytes.subarray(1, 4).toString()).toBe("PNG");
  // Width and height in pixels: some columns and fifty rows at twice the size.
  expect(bytes.readUInt32BE(16)).toBeGreaterThan(600);
  expect(bytes.readUInt32BE(20)).toBeGreaterThan(50 * 24 * 2);
});

test("steps are added, ordered and dropped by keys, and mistakes are shown where they are", async () => {
  const { page } = opened;
  const steps = page.getByRole("list", { name: "Steps of the classification" });
  const step = (name: string) => steps.getByRole("button", { name, exact: true });
  await visit(page, `#/${multicache}/heap?by=type`);
  await page.getByRole("button", { name: "+ Add step" }).click();
  await page.keyboard.type("loader");
  await page.keyboard.press("Enter");
  await settled(page);
  expect(page.url()).toContain("by=type%2C+loader");
  await steps
    .getByRole("listitem")
    .nth(1)
    .dragTo(steps.getByRole("listitem").first(), { targetPosition: { x: 4, y: 10 } });
  expect(page.url()).toContain("by=loader%2C+type");
  await step("loader").focus();
  await page.keyboard.press("Alt+ArrowRight");
  expect(page.url()).toContain("by=type%2C+loader");
  await page.keyboard.press("Alt+ArrowLeft");
  await step("type").focus();
  await page.keyboard.press("Delete");
  expect(page.url()).toMatch(/by=loader$/);

  await step("loader").focus();
  await page.keyboard.press("Enter");
  await page.getByLabel("Expression, condition or script").fill("lenght > 3");
  await page.keyboard.press("Enter");
  const mistake = page.getByRole("alert");
  await mistake.waitFor();
  expect(await mistake.innerText()).toContain("did you mean `length`?");
});

test("the histogram has the JVM's own order and numbers", async () => {
  await visit(opened.page, `#/${multicache}/histogram?sort=objects`);
  const told = cli<{ rows: { class: string; objects: number }[] }>(
    "histogram",
    inject("files").multicache,
    "--sort",
    "objects",
    "--limit",
    "5",
  );
  const shown = (await rows("Histogram")).slice(0, 5);
  expect(shown.map((row) => row[1]?.split("\n")[0]?.trim())).toEqual(
    told.rows.map((row) => count(row.objects)),
  );
});

test("the timeline has the recording's states, and one that is chosen is chosen everywhere", async () => {
  const { page } = opened;
  await visit(page, `#/${recording}/timeline`);
  const told = cli<{ states: { point: string; reachable_objects: number }[] }>(
    "timeline",
    inject("files").recording,
  );
  const states = page.getByRole("region", { name: "States" });
  expect(await states.getByRole("row").count()).toBe(told.states.length + 1);
  await states.getByRole("link").first().click();
  await settled(page);
  expect(page.url()).toContain("at=%231");
  expect(await page.getByRole("heading", { name: "Heap state" }).locator("..").innerText()).toContain(
    `${count(told.states[0]!.reachable_objects)} objects`,
  );
});

test("classifiers are known at every state of a recording", async () => {
  const { page } = opened;
  await visit(page, `#/${recording}/heap?at=%232&by=type`);
  await page.getByRole("button", { name: "+ Add step" }).click();
  await page.keyboard.type("loader");
  await page.keyboard.press("Enter");
  await settled(page);
  expect(page.url()).toContain("by=type%2C+loader");
});

test("a value that was not recorded is not null", async () => {
  const { page } = opened;
  const lists = ["--class", "java.util.ArrayList", "--limit", "1"];
  const { rows } = cli<{ rows: { address: string }[] }>("objects", inject("files").recording, ...lists);
  await visit(page, `#/${recording}/object?address=${rows[0]!.address}`);
  const size = page.getByRole("row").filter({ has: page.getByText("size", { exact: true }) });
  expect(await size.innerText()).toContain("not recorded");
  // Nobody knows where the list ends.
  expect(await page.getByText("in the list").count()).toBe(0);
});

/** What ends in the nodes of a tree and in none below them, by keys. */
function ends(node: Node, path: string[], found: Map<string, number>): Map<string, number> {
  const below = (node.children ?? []).reduce((sum, child) => sum + child.objects, 0);
  if (node.objects > below) found.set(path.join(" > "), node.objects - below);
  for (const child of node.children ?? []) ends(child, [...path, child.key], found);
  return found;
}

test.each(["type", "package", "closest-root", "kind, size", "length > 10"])(
  "the timeline is stacked by %s with the numbers of each state",
  async (by) => {
    const { page } = opened;
    for (const at of ["#2", "#4"]) {
      const query = new URLSearchParams({ by, at, measure: "objects" });
      await visit(page, `#/${recording}/timeline?${query}`);
      const { tree } = cli<{ tree: Node }>("classify", inject("files").recording, "--at", at, "--by", by);
      const told = ends(tree, [], new Map());
      const shown = await page.getByRole("list", { name: "Layers" }).getByRole("listitem").allInnerTexts();
      const layers = shown.map((text) => /^(.*?)\s+([\d,]+)$/s.exec(text)!);
      expect(layers.length).toBe(Math.min(told.size, 8) + (told.size > 8 ? 1 : 0));
      let sum = 0;
      for (const [, name, number] of layers) {
        // Of a long path of keys the end is shown.
        const end = name!.startsWith("… > ") ? name!.slice(1) : null;
        const shown = [...told].filter(([key]) => (end === null ? key === name : key.endsWith(end)));
        if (!/^\d+ others?$/.test(name!)) expect([name, number]).toEqual([name, count(shown[0]?.[1] ?? 0)]);
        sum += Number(number!.replaceAll(",", ""));
      }
      expect(sum).toBe(tree.objects);
    }
  },
);

test("a recording of a hundred states is looked into at some of them, or at all", async () => {
  const { page } = opened;
  const file = inject("files").long;
  const told = cli<{ states: object[] }>("timeline", file, "--limit", "1").states.length;
  expect(told).toBeGreaterThan(60);
  await visit(page, `#/${long}/timeline?by=kind&measure=objects`);
  await page.getByText(`at 60 of ${told} states`).waitFor();
  const last = cli<{ tree: Node }>("classify", file, "--by", "kind").tree.children!;
  const layers = page.getByRole("list", { name: "Layers" });
  for (const node of last) expect(await layers.innerText()).toContain(count(node.objects));
  await page.getByRole("button", { name: "All", exact: true }).click();
  await page.getByText(`at 60 of ${told} states`).waitFor({ state: "hidden" });
  await settled(page);
  expect(page.url()).toContain("states=0");
  for (const node of last) expect(await layers.innerText()).toContain(count(node.objects));

  await visit(page, `#/${long}/growth`);
  await page.getByText(`heap growth over ${told} states, 30 of them analyzed`).waitFor();
  const growth = cli<{ structures: { name: string }[] }>("growth", file);
  const heads = await page.locator("article h2").allInnerTexts();
  expect(heads.slice(0, growth.structures.length)).toEqual(growth.structures.map((one) => one.name));
});

test("the layers of the timeline are chosen as steps, and mistakes are shown where they are", async () => {
  const { page } = opened;
  await visit(page, `#/${recording}/timeline`);
  await page.getByLabel("Presets").selectOption({ label: "Closest root" });
  await settled(page);
  expect(page.url()).toContain("by=closest-root");
  await page.getByRole("button", { name: "+ Add step" }).click();
  await page.keyboard.type("expression");
  await page.keyboard.press("Enter");
  await page.getByLabel("Expression, condition or script").fill("siz > 100");
  await page.keyboard.press("Enter");
  await page.getByRole("alert").waitFor();
  expect(await page.getByRole("alert").innerText()).toContain("did you mean `size`?");
  await page.getByRole("button", { name: "Edit step 2" }).click();
  await page.getByLabel("Expression, condition or script").fill("size > 100");
  await page.keyboard.press("Enter");
  await page.getByRole("list", { name: "Layers" }).getByText("> true").first().waitFor();
  expect(await page.getByRole("alert").count()).toBe(0);
});

test("dragging over the chart chooses a window", async () => {
  const { page } = opened;
  await visit(page, `#/${recording}/timeline`);
  const canvas = page.locator("canvas").first();
  await canvas.waitFor();
  const { x, y, width } = (await canvas.boundingBox())!;
  await page.mouse.move(x + 0.1 * width, y + 150);
  await page.mouse.down();
  await page.mouse.move(x + 0.97 * width, y + 160, { steps: 4 });
  await page.mouse.up();
  await page.waitForFunction(() => location.hash.includes("from="));
  await page.getByRole("link", { name: "What grew?" }).click();
  await settled(page);
  expect(page.url()).toMatch(/growth\?from=%231&to=%23\d+/);
  expect(await page.locator("article").first().innerText()).toContain("anthill.samples.Growth.leak");
});

test("what was born and died is the command line's", async () => {
  await visit(opened.page, `#/${recording}/growth?tab=diff&from=%231&to=last`);
  interface Changed extends Node {
    born: { objects: number };
    died: { objects: number };
  }
  const told = cli<{ tree: { children: Changed[] } }>(
    "diff",
    inject("files").recording,
    "--from",
    "#1",
    "--to",
    "last",
  );
  const first = told.tree.children.sort(
    (a, b) => b.born.objects + b.died.objects - a.born.objects - a.died.objects,
  )[0]!;
  const shown = (await rows("Born, died and survived"))[0]!;
  expect([shown[0], shown[4], shown[5]]).toEqual([
    first.key,
    count(first.died.objects),
    count(first.born.objects),
  ]);
});

test("a reference can be cut to see what it frees", async () => {
  const { page } = opened;
  await visit(page, `#/${multicache}/group?g=anthill.samples.Product&tab=paths&collapse=0`);
  await page.getByRole("button", { name: "static idCache" }).click();
  const panel = page.getByRole("region", { name: "What would cutting these references free?" });
  await panel.getByText(/references? cut/).waitFor();
  const told = cli<{ references: number; freed_objects: number }>(
    "cut",
    inject("files").multicache,
    'class_objects("anthill.samples.IdCache")',
    "java.util.HashMap",
  );
  expect(told.freed_objects).toBeGreaterThan(20_000);
  const text = await panel.innerText();
  expect(text).toContain(`${count(told.references)} reference`);
  expect(text).toContain(`${count(told.freed_objects)} objects freed`);
});

test("a group that has a name is known everywhere, and to the command line through a file", async () => {
  const { page, complaints } = opened;
  complaints.length = 0;
  const file = inject("files").multicache;
  const group = "IdCache.idCache | NameCache.nameCache";
  await visit(page, `#/${multicache}/group?${new URLSearchParams({ g: group })}`);
  await page.getByLabel("Name of the group").fill("caches");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("Saved as caches").waitFor();

  await visit(page, `#/${multicache}/heap?${new URLSearchParams({ group: "retained(caches)" })}`);
  const told = cli<{ retained_objects: number }>("inspect", file, group);
  const heading = page.getByRole("heading", { name: "Heap state" }).locator("..");
  expect(await heading.innerText()).toContain(`${count(told.retained_objects)} objects`);

  const dialog = page.getByRole("dialog", { name: "Your definitions" });
  const edit = async () => {
    await page.keyboard.press("Control+k");
    await page.keyboard.type("your definitions");
    await page.keyboard.press("Enter");
    await dialog.waitFor();
  };
  await edit();
  expect(await broken()).toEqual([]);
  const [saved] = await Promise.all([
    page.waitForEvent("download"),
    dialog.getByRole("button", { name: "Save as file" }).click(),
  ]);
  const same = cli<{ retained_objects: number }>("inspect", file, "caches", "--define", await saved.path());
  expect(same.retained_objects).toBe(told.retained_objects);

  const text =
    "classifier big = size > 100\nclassifier small = big == false\ngroup products = anthill.samples.Product\n";
  await dialog
    .getByLabel("Definitions file")
    .setInputFiles({ name: "mine.txt", mimeType: "text/plain", buffer: Buffer.from(text) });
  await dialog.getByRole("textbox", { name: "Definitions" }).evaluate((area, wanted) => {
    return new Promise<void>((done) => {
      const look = () => ((area as HTMLTextAreaElement).value === wanted ? done() : setTimeout(look, 20));
      look();
    });
  }, text);
  await dialog.getByRole("button", { name: "Save", exact: true }).click();
  await dialog.waitFor({ state: "hidden" });
  await visit(page, `#/${multicache}/heap?by=big&group=products`);
  const products = cli<{ tree: Node }>(
    "classify",
    file,
    "--by=big",
    "--group=products",
    `--definitions=${text}`,
  ).tree.children!;
  expect((await rows("Classification tree")).map((row) => row[0]?.split("\n")[0])).toEqual(
    products.map((node) => node.key),
  );
  await page.getByRole("button", { name: "Add step" }).click();
  await page.getByRole("button", { name: "delete big" }).click();
  expect(await page.getByRole("alert").innerText()).toContain("Another definition uses big.");
  await page.getByRole("button", { name: "delete small" }).click();
  await page.getByRole("button", { name: "delete big" }).click();
  await page.getByRole("button", { name: "delete big" }).waitFor({ state: "hidden" });
  await visit(page, `#/${multicache}/group`);
  const own = page.getByRole("region", { name: "Your groups" });
  expect(await own.getByRole("row").nth(1).innerText()).toContain(count(products[0]!.objects));
  expect(await broken()).toEqual([]);
  await own.getByRole("button", { name: "delete products" }).click();
  await own.waitFor({ state: "hidden" });

  await edit();
  await dialog.getByRole("textbox", { name: "Definitions" }).fill("group wrong = retaind(x)");
  await dialog.getByRole("button", { name: "Save", exact: true }).click();
  expect(await dialog.getByRole("alert").innerText()).toContain("unknown function `retaind`");
  await dialog.getByRole("textbox", { name: "Definitions" }).fill("");
  await dialog.getByRole("button", { name: "Save", exact: true }).click();
  await dialog.waitFor({ state: "hidden" });
  // The browser notes that wrong definitions were refused, and that a group is gone with its definition.
  expect(complaints.filter((one) => !/status of 40[04]/.test(one))).toEqual([]);
});

test("an icicle shows the dominator tree: a click gives a part the whole width and leads to the object", async () => {
  const { page } = opened;
  interface Item {
    label: string;
    address?: string;
    retained: number;
    children: Item[];
  }
  const file = inject("files").multicache;
  const largest = cli<{ tree: Item }>("dominators", file, "--depth=1").tree.children[0]!;
  await visit(page, `#/${multicache}/dominators?form=icicle`);
  const graph = page.getByRole("application", { name: /^Icicle of the dominator tree/ });
  // In the row below the top, the largest comes first.
  const box = (await graph.boundingBox())!;
  await page.mouse.click(box.x + 20, box.y + 35);
  await page.getByRole("status").getByText(largest.label, { exact: true }).waitFor();
  await page.getByRole("link", { name: "Open the object" }).click();
  await settled(page);
  expect(page.url()).toContain(`address=${largest.address}`);
});

test("the timeline is zoomed and moved, and a part of it leads to what changed in it", async () => {
  const { page } = opened;
  interface State {
    point: string;
    time: number;
  }
  const told = cli<{ states: State[]; duration_ns: number }>("timeline", inject("files").recording);
  await visit(page, `#/${recording}/timeline`);
  const axis = page.getByRole("application", { name: /^Time axis/ });
  const sight = () =>
    (new URLSearchParams(page.url().split("?")[1]).get("time") ?? "").split("-").map(Number);
  await axis.focus();
  await page.keyboard.press("+");
  const seconds = told.duration_ns / 1e9;
  expect(sight()[0]).toBeCloseTo(seconds / 4, 2);
  expect(sight()[1]).toBeCloseTo((3 * seconds) / 4, 2);
  await page.keyboard.press("ArrowLeft");
  expect(sight()[0]).toBeCloseTo(seconds / 4 - seconds / 10, 2);
  await page.getByRole("button", { name: "Whole time" }).click();
  await page.getByRole("button", { name: "Whole time" }).waitFor({ state: "hidden" });
  const box = (await axis.boundingBox())!;
  await page.mouse.move(box.x + box.width / 2, box.y + 100);
  await page.keyboard.down("Control");
  await page.mouse.wheel(0, -100);
  await page.keyboard.up("Control");
  await page.getByRole("button", { name: "Whole time" }).click();
  // From the first state to the last.
  await page.mouse.move(box.x + 80, box.y + 100);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width - 25, box.y + 100, { steps: 4 });
  await page.mouse.up();
  await page.getByRole("link", { name: "Compare the two states" }).click();
  await settled(page);
  const params = new URLSearchParams(page.url().split("?")[1]);
  expect([params.get("from"), params.get("to")]).toEqual([told.states[0]!.point, told.states.at(-1)!.point]);
  expect(params.get("tab")).toBe("diff");
});

interface Allocated {
  kind: string;
  class: string | null;
  method: string | null;
  allocated: number;
  children?: Allocated[];
}

test("a flame graph has the command line's calls, and a key gives one the whole width", async () => {
  const { page } = opened;
  const told = cli<{ tree: Allocated }>("allocations", inject("files").orders).tree;
  const first = told.children![0]!;
  const name = `${first.class}.${first.method}`;
  await visit(page, `#/${orders}/allocations?form=table`);
  expect((await rows("Allocations by call"))[0]?.[0]).toBe(name);
  await visit(page, `#/${orders}/allocations`);
  const graph = page.getByRole("application", { name: /^Flame graph of allocations/ });
  await graph.focus();
  await page.keyboard.press("ArrowDown");
  await page.getByRole("status").getByText(name, { exact: true }).waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Zoom out" }).waitFor();
  expect(new URLSearchParams(page.url().split("?")[1]).get("zoom")).toBe(name);
  await graph.focus();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Zoom out" }).waitFor({ state: "hidden" });
  await page.getByLabel("Search calls and classes").fill(first.method!);
  await page.getByText(/^\d+ match(es)?, 100% of all$/).waitFor();
});

test("the report is saved as the command line writes it", async () => {
  const { page } = opened;
  await visit(page, `#/${multicache}/start`);
  for (const [form, extension] of [
    ["HTML", "html"],
    ["Markdown", "md"],
    ["JSON", "json"],
  ] as const) {
    await page.getByRole("button", { name: "Export report" }).click();
    const [saved] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("menuitem", { name: form }).click(),
    ]);
    expect(saved.suggestedFilename()).toBe(`multicache-report.${extension}`);
    const written = `${await saved.path()}.${extension}`;
    execFileSync(inject("program"), ["report", inject("files").multicache, "-o", written, "--no-progress"]);
    expect(readFileSync(await saved.path(), "utf8")).toBe(readFileSync(written, "utf8"));
  }
});

test("notes are written beside what they are about, lead back to it, and are in the saved report", async () => {
  const { page, complaints } = opened;
  complaints.length = 0;
  await visit(page, `#/${multicache}/start`);
  const panel = page.getByRole("complementary", { name: "Notes" });
  const text = panel.getByRole("textbox", { name: /^Note on/ });
  await page.getByRole("button", { name: "Add a note" }).first().click();
  await panel.getByText("Note on the suspect").waitFor();
  await text.fill("Ask <b>Ann</b> about\nthe second cache");
  await panel.getByRole("button", { name: "Save" }).click();
  await page.getByRole("button", { name: "Your note" }).waitFor();
  await visit(page, `#/${multicache}/group?g=anthill.samples.Product`);
  await panel.getByText("Note on this group").waitFor();
  await panel.getByRole("button", { name: "Bookmark" }).click();
  await panel.getByRole("button", { name: "Delete", exact: true }).waitFor();
  expect(await broken()).toEqual([]);
  await visit(page, `#/${multicache}/waste`);
  expect(await page.getByRole("button", { name: "Notes 2" }).count()).toBe(1);
  await panel.getByText("Ask <b>Ann</b> about").waitFor();
  await panel.getByRole("link", { name: "anthill.samples.Product" }).click();
  await settled(page);
  expect(page.url()).toContain("g=anthill.samples.Product");

  await visit(page, `#/${multicache}/start`);
  await page.getByRole("button", { name: "Close notes" }).click();
  await page.getByRole("button", { name: "Export report" }).click();
  const [saved] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("menuitem", { name: "HTML" }).click(),
  ]);
  expect(readFileSync(await saved.path(), "utf8")).toContain(
    "Ask &lt;b&gt;Ann&lt;/b&gt; about\nthe second cache",
  );
  await page.getByRole("button", { name: "Notes 2" }).click();
  for (const left of ["Notes 1", "Notes"]) {
    await panel
      .getByRole("button", { name: /^Delete the note/ })
      .first()
      .click();
    await page.getByRole("button", { name: left, exact: true }).waitFor();
  }
  await page.getByRole("button", { name: "Close notes" }).click();
  expect(complaints).toEqual([]);
});

test("what the four numbers mean is one click away", async () => {
  const { page } = opened;
  await visit(page, `#/${multicache}/start`);
  await page.getByRole("button", { name: "What do the numbers mean?" }).click();
  const sheet = page.getByRole("dialog", { name: "What the numbers mean" });
  for (const name of ["Objects", "Shallow", "Deep", "Retained"])
    await sheet.getByRole("cell", { name, exact: true }).waitFor();
  expect(await broken()).toEqual([]);
  await sheet.getByRole("button", { name: "Close" }).click();
  await sheet.waitFor({ state: "hidden" });
});

test("deep sizes are shown where they say something, and on demand", async () => {
  const { page } = opened;
  const column = page.getByRole("columnheader", { name: /Deep/ });
  // Products reach names that something else holds as well; arrays of numbers reach nothing.
  await visit(
    page,
    `#/${multicache}/heap?by=type&where=${encodeURIComponent('type == "anthill.samples.Product"')}`,
  );
  await column.waitFor();
  await visit(page, `#/${multicache}/heap?by=type&where=${encodeURIComponent('type == "int[]"')}`);
  await page.getByRole("button", { name: "Show deep sizes" }).click();
  await column.waitFor();
});

test("a view is saved as a file that says what it is of", async () => {
  const { page } = opened;
  await visit(page, `#/${multicache}/histogram`);
  await page.getByRole("button", { name: "Copy" }).click();
  const [saved] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "This view as a file (HTML)" }).click(),
  ]);
  expect(saved.suggestedFilename()).toBe("anthill-histogram.html");
  const file = readFileSync(await saved.path(), "utf8");
  expect(file).toContain("multicache.hprof");
  expect(file).toContain(`<code>#/${multicache}/histogram</code>`);
  const told = cli<{ rows: { class: string; objects: number }[] }>("histogram", inject("files").multicache);
  const product = told.rows.find((row) => row.class === "anthill.samples.Product")!;
  expect(file).toMatch(new RegExp(`<td>${product.class}</td>.*<td class="n">${count(product.objects)}</td>`));
  // Nothing of the run of the server is in it.
  expect(file).not.toMatch(/token|127\.0\.0\.1/);
});

test("paper has what the view shows and nothing to click", async () => {
  const { page } = opened;
  await visit(page, `#/${multicache}/start`);
  await page.emulateMedia({ media: "print" });
  try {
    expect(await page.getByRole("navigation", { name: "Views" }).count()).toBe(0);
    expect(await page.getByRole("button").count()).toBe(0);
    await page.getByText("leak suspect").first().waitFor();
  } finally {
    await page.emulateMedia({ media: null });
  }
});

test("rules are checked as they are written", async () => {
  const { page } = opened;
  await visit(page, `#/${multicache}/assertions`);
  await page.getByLabel(/^Rules/).fill("at most 7 instances of anthill.samples.Product");
  await page.getByRole("button", { name: "Check" }).click();
  await page.getByText("violated").first().waitFor();
  expect(await page.locator("article").first().innerText()).toContain("anthill.samples.Product");
});

test("texts of a heap are texts, whatever is in them", async () => {
  const { page, complaints } = opened;
  complaints.length = 0;
  await visit(page, `#/${hostile}/strings?text=hacked`);
  await page.getByText("<script>window.hacked = 1</script>").first().waitFor();
  await visit(page, `#/${hostile}/threads`);
  await page.getByText("<b onmouseover=alert(1)>thread</b>\\u202e").first().waitFor();
  await visit(page, `#/${hostile}/strings?text=xxxxxxxx`);
  await page.getByRole("treegrid", { name: "Strings" }).getByRole("link").first().click();
  await settled(page);
  const text = await page.locator("main").innerText();
  expect(text).toContain("1,000,000 characters");
  expect(text.length).toBeLessThan(20_000);
  await visit(page, `#/${hostile}/group?g=static%28%22Hostile%22%2C+%22MAP%22%29&tab=objects`);
  await page.getByRole("treegrid", { name: "Objects of the group" }).getByRole("link").first().click();
  await page.getByRole("region", { name: "Entries" }).getByText("5", { exact: true }).first().waitFor();
  expect(await page.evaluate(() => (window as unknown as { hacked?: number }).hacked)).toBeUndefined();
  expect(complaints).toEqual([]);
});
