// Clicks through the web view in Chromium as a person does, and tells what every click took, as JSON.
//
// node bench/clicks.mjs ANTHILL FILE ROUNDS; the web view is served by `ANTHILL open FILE`.

import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const { chromium } = createRequire(new URL("../web/package.json", import.meta.url))("playwright-core");

const PATIENCE_MS = 600_000;
const MOST_ROWS = 5;

/** Runs in the page, before its own scripts: follows what it asks, and what it shows after a click. */
function follow() {
  const WAITING = ".waiting, .reading, [aria-busy=true]";
  const QUIET_FRAMES = 3;
  const plainFetch = window.fetch;
  let asked = 0;
  const clicks = { ready: null, headline: null, suspects: null, armed: false, click: null };
  window.clicks = clicks;

  window.fetch = async (url, options) => {
    if (String(url).endsWith("/events")) return plainFetch(url, options);
    asked += 1;
    try {
      const response = await plainFetch(url, options);
      if (String(url).endsWith("/sources") && clicks.ready === null) {
        const { sources } = await response.clone().json();
        if (sources[0].status === "ready") clicks.ready = performance.now();
      }
      return response;
    } finally {
      asked -= 1;
    }
  };

  const waiting = () => [...document.querySelectorAll(WAITING)];
  const isSeen = (element) => Number(getComputedStyle(element).opacity) > 0.05;

  /** From an event until the page has nothing to wait for: when it first showed that it works, and when it was done. */
  function watch(event) {
    const click = { start: event.timeStamp, sign: null, answered: null, done: false };
    clicks.click = click;
    let quiet = 0;
    const frame = () => {
      const now = performance.now();
      const left = waiting();
      if (asked > 0 || left.length > 0) {
        quiet = 0;
        click.answered = null;
        if (click.sign === null && left.some(isSeen)) click.sign = now - click.start;
      } else {
        quiet += 1;
        click.answered ??= now - click.start;
        click.done = quiet >= QUIET_FRAMES;
      }
      if (!click.done) requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }
  for (const kind of ["click", "change", "dblclick"]) {
    const begin = (event) => {
      if (!clicks.armed) return;
      clicks.armed = false;
      watch(event);
    };
    window.addEventListener(kind, begin, true);
  }

  // The first view: the headline, and the suspects or that there are none.
  const first = () => {
    const now = performance.now();
    if (document.querySelector(".headline")) clicks.headline ??= now;
    if (document.getElementById("suspects-title")) clicks.suspects ??= now;
    if (clicks.suspects === null) requestAnimationFrame(first);
  };
  requestAnimationFrame(first);
}

async function measured(page, name, act) {
  await page.evaluate(() => {
    window.clicks.armed = true;
    window.clicks.click = null;
  });
  await act();
  await page.waitForFunction(() => window.clicks.click?.done, null, { timeout: PATIENCE_MS, polling: 20 });
  const { sign, answered } = await page.evaluate(() => window.clicks.click);
  const wrong = await page.getByRole("alert").count();
  if (wrong > 0) throw new Error(`${name}: ${await page.getByRole("alert").first().innerText()}`);
  return { name, sign: sign ?? answered, answered };
}

/** What a person does, each step with its name; a step whose place is not there is left out. */
function* steps(page) {
  const view = (title) =>
    page.getByRole("navigation", { name: "Views" }).getByRole("link", { name: title, exact: true });
  const open = (title) => ({ name: title, place: view(title) });
  const rows = (table) => page.getByRole("treegrid", { name: table });
  const unfold = (table) => ({
    name: `${table}: unfold a row`,
    place: rows(table).getByRole("button", { name: "Expand" }).first(),
    times: MOST_ROWS,
  });
  const sort = (table, column) => ({
    name: `${table}: sort by ${column}`,
    place: rows(table).getByRole("columnheader").getByRole("button", { name: column, exact: true }),
  });
  const split = (title) => ({
    name: `Heap state: ${title}`,
    place: page.getByLabel("Presets"),
    act: (place) => place.selectOption({ label: title }),
  });
  const tab = (title) => ({ name: `Group: ${title}`, place: page.getByRole("tab", { name: title }) });

  yield { name: "Start: inspect the owners", place: page.getByRole("link", { name: /^Inspect the/ }).first() };
  yield tab("Paths to roots");
  yield tab("Retained objects");
  yield tab("Reached objects");
  yield tab("Objects");
  yield { name: "Group: an object", place: rows("Objects of the group").getByRole("link").first() };
  yield open("Start");
  yield {
    name: "Start: what keeps the objects alive",
    place: page.getByRole("link", { name: /^What keeps the/ }).first(),
  };
  yield tab("Owners and roots");
  yield tab("Retained objects");
  yield tab("Objects");
  yield { name: "Group: an object", place: rows("Objects of the group").getByRole("link").first() };
  const referrers = page.locator("section:has(> header > h2:text-is('Referrers'))");
  yield { name: "Object: a referrer", place: referrers.getByRole("link").first() };
  yield { name: "Object: inspect as a group", place: page.getByRole("link", { name: "Inspect as a group" }) };
  yield open("Heap state");
  yield sort("Classification tree", "Objects");
  yield split("Package → type");
  yield unfold("Classification tree");
  yield split("Type → who refers to it");
  yield unfold("Classification tree");
  yield sort("Classification tree", "Shallow");
  yield {
    name: "Heap state: inspect a row",
    place: rows("Classification tree").getByRole("row").nth(1),
    act: (place) => place.dblclick({ position: { x: 300, y: 12 } }),
  };
  yield open("Histogram");
  yield sort("Histogram", "Objects");
  yield open("Dominators");
  yield unfold("Dominator tree");
  yield { name: "Dominators: an object", place: rows("Dominator tree").getByRole("link").first() };
  yield { name: "Object: what it dominates", place: page.getByRole("link", { name: "What it dominates" }) };
  for (const title of ["Structures", "Threads", "Class loaders", "Strings", "Waste", "Assertions"]) yield open(title);
}

async function round(page, kind) {
  const clicks = [];
  for (const step of steps(page)) {
    for (let time = 0; time < (step.times ?? 1); time++) {
      if ((await step.place.count()) === 0) break;
      const act = () => (step.act ?? ((place) => place.click()))(step.place);
      const click = await measured(page, step.name, act);
      process.stderr.write(`    ${kind} ${click.name}: ${Math.round(click.answered)} ms\n`);
      clicks.push({ kind, ...click });
    }
  }
  return clicks;
}

/** Figures of /proc in bytes. */
function figures(file, names) {
  const lines = readFileSync(file, "ascii").split("\n");
  const of = (name) => Number(lines.find((line) => line.startsWith(`${name}:`))?.match(/\d+/)?.[0] ?? 0) * 1024;
  return Object.fromEntries(names.map((name) => [name, of(name)]));
}

/** What the page takes: its JavaScript heap, and all private memory of the process that shows it. */
async function pageMemory(browser, page) {
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable");
  const { metrics } = await session.send("Performance.getMetrics");
  const heap = metrics.find((metric) => metric.name === "JSHeapUsedSize").value;
  await session.detach();
  const all = await (await browser.newBrowserCDPSession()).send("SystemInfo.getProcessInfo");
  const renderers = all.processInfo.filter((process) => process.type === "renderer");
  const held = renderers.map(({ id }) => {
    const { Private_Clean, Private_Dirty } = figures(`/proc/${id}/smaps_rollup`, ["Private_Clean", "Private_Dirty"]);
    return Private_Clean + Private_Dirty;
  });
  return { heap, process: Math.max(...held) };
}

const serverMemory = (pid) => figures(`/proc/${pid}/status`, ["VmRSS", "RssAnon", "VmHWM"]);

/** Serves the file, opens the page at once, and waits for the first view. */
async function firstView(browser, program, file) {
  const started = Date.now();
  const server = spawn(program, ["open", "--no-browser", file], { stdio: ["ignore", "pipe", "inherit"] });
  const address = await new Promise((found, failed) => {
    createInterface({ input: server.stdout }).once("line", found);
    server.once("exit", (code) => failed(new Error(`anthill open ended with ${code}`)));
  });
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  await context.addInitScript(follow);
  const page = await context.newPage();
  await page.goto(address);
  await page.waitForFunction(() => window.clicks.suspects !== null, null, { timeout: PATIENCE_MS, polling: 20 });
  const { ready, headline, suspects, origin } = await page.evaluate(() => ({
    ...window.clicks,
    click: null,
    origin: performance.timeOrigin,
  }));
  const first = { loading: origin + ready - started, headline: headline - ready, suspects: suspects - ready };
  return { server, page, first };
}

async function main() {
  const [program, file, rounds] = process.argv.slice(2);
  const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  const servers = [];
  try {
    const opened = await firstView(browser, program, file);
    const { server, page, first } = opened;
    servers.push(server);
    const clicks = await round(page, "cold");
    for (let number = 1; number < Number(rounds); number++) {
      // Whatever the page kept is gone.
      await page.evaluate(() => (location.hash = "#/0/start"));
      await page.reload();
      await page.waitForFunction(() => window.clicks.suspects !== null, null, { timeout: PATIENCE_MS });
      clicks.push(...(await round(page, "warm")));
    }
    const memory = { page: await pageMemory(browser, page), server: serverMemory(server.pid) };
    server.kill();
    const again = await firstView(browser, program, file);
    servers.push(again.server);
    const result = { browser: browser.version(), first, again: again.first, clicks, memory };
    process.stdout.write(`${JSON.stringify(result)}\n`);
  } finally {
    for (const server of servers) server.kill();
    await browser.close();
  }
}

await main();
