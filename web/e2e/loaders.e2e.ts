// Class loaders of a real Tomcat: the applications are told apart, and what holds the stopped one is there.

import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { close, open, type Opened, settled, visit } from "./browser";
import { tomcat } from "./programs";
import { compile, line } from "./setup";

const folder = mkdtempSync(join(tmpdir(), "anthill-loaders-"));
let server: ChildProcess | undefined;
let opened: Opened | undefined;

beforeAll(async () => {
  compile(folder);
  const files = await tomcat(folder, folder);
  if (files.length === 0) return;
  server = spawn(inject("program"), ["open", "--no-browser", ...files], {
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

test("a stopped application is found by its context path, with everything that holds it", async ({
  skip,
}) => {
  if (!opened) return skip();
  const { page, complaints } = opened;
  complaints.length = 0;
  await visit(page, "#/0/loaders");
  const stopped = page.getByRole("region", { name: /of stopped applications is still there/ });
  for (const holder of [
    /held by a thread-local value of .*-exec-1/,
    /held by static field anthill.samples.SharedRegistry.entries/,
    /held by a shutdown hook \(java.lang.Thread "shop-goodbye"/,
  ])
    await stopped.getByText(holder).waitFor();
  const table = page.getByRole("treegrid", { name: "Class loaders" });
  expect(await table.getByRole("row", { name: /\/shop .*DESTROYED/ }).count()).toBe(1);
  expect(await table.getByRole("row", { name: /\/outlet .*STARTED/ }).count()).toBe(1);
  // By the jar that it loads, too.
  await page.getByRole("searchbox", { name: "Search class loaders" }).fill("tomcat-embed-core");
  await settled(page);
  expect(await table.getByRole("row").count()).toBe(2);
  await table.getByRole("row", { name: /app / }).waitFor();
  expect(complaints).toEqual([]);
});
