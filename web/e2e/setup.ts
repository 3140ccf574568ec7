// Before all tests: heap dumps and a recording of real JVMs, and `anthill open` on them.

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    address: string;
    program: string;
    /** The process of `anthill open`. */
    server: number;
    files: {
      multicache: string;
      recording: string;
      hostile: string;
      growing: string[];
      long: string;
      orders: string;
    };
  }
}

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));
export const PROGRAM = process.env.ANTHILL ?? join(ROOT, "target/debug/anthill");
const BIN = process.env.JAVA_HOME ? join(process.env.JAVA_HOME, "bin") : "";
export const java = (tool: string) => (BIN ? join(BIN, tool) : tool);
const UTF8 = { ...process.env, LC_ALL: "C.UTF-8" };

/** Resolves with the first line that says it. */
export function line(child: ChildProcess, says: RegExp): Promise<string> {
  return new Promise((found, failed) => {
    createInterface({ input: child.stdout! }).on("line", (text) => says.test(text) && found(text));
    child.once("exit", (code) => failed(new Error(`ended with ${code} before it said ${says}`)));
  });
}

export async function start(folder: string, ...program: string[]): Promise<ChildProcess> {
  const child = spawn(java("java"), ["-Xmx400m", "-cp", folder, ...program], {
    stdio: ["pipe", "pipe", "inherit"],
    env: UTF8,
  });
  await line(child, /^READY/);
  return child;
}

export function dump(child: ChildProcess, file: string): string {
  execFileSync(java("jcmd"), [String(child.pid), "GC.heap_dump", "-overwrite", file], { stdio: "ignore" });
  return file;
}

/** Compiles the sources in some directories, not those below them. */
export function compileTo(folder: string, classPath: string[], ...directories: string[]): void {
  const sources = directories.flatMap((directory) =>
    readdirSync(directory)
      .filter((file) => file.endsWith(".java"))
      .map((file) => join(directory, file)),
  );
  const options = ["-encoding", "UTF-8", "--release", "11", "-nowarn", "-d", folder];
  execFileSync(java("javac"), [...options, "-cp", [folder, ...classPath].join(delimiter), ...sources], {
    env: UTF8,
  });
}

export function compile(folder: string): void {
  compileTo(folder, [], join(ROOT, "java/samples/anthill/samples"), join(ROOT, "web/e2e"));
}

/** A program whose map grows step by step, recorded with all objects told apart. */
async function record(folder: string, file: string): Promise<string> {
  return recordSteps(folder, file, 3000, 6, () => true);
}

/** The same with a state after each step, however busy the machine is. */
export async function recordEachStep(folder: string, file: string): Promise<string> {
  const patience = Date.now() + 60_000;
  return recordSteps(folder, file, 5000, 9, (step) => states(file) > step || Date.now() > patience);
}

async function recordSteps(
  folder: string,
  file: string,
  entries: number,
  steps: number,
  isRecorded: (step: number) => boolean,
): Promise<string> {
  const options = [
    "--identity",
    "all",
    "--every",
    "1s",
    "--overhead",
    "60%",
    "--contents",
    "--replace",
    "-o",
    file,
  ];
  const program = [java("java"), "-Xmx200m", "-cp", folder, "anthill.samples.Growth", String(entries), "500"];
  const child = spawn(PROGRAM, ["record", ...options, "--", ...program], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  await line(child, /^READY/);
  for (let step = 0; step < steps; step++) {
    do await new Promise((later) => setTimeout(later, 1200));
    while (!isRecorded(step));
    child.stdin!.write("grow\n");
  }
  do await new Promise((later) => setTimeout(later, 1500));
  while (!isRecorded(steps));
  child.stdin!.end();
  await new Promise((ended) => child.once("exit", ended));
  return file;
}

/** A small program with a state every few hundred milliseconds, until there are more than the pages look into at once. */
async function recordLong(folder: string, file: string): Promise<string> {
  const program = [java("java"), "-Xmx64m", "-cp", folder, "anthill.samples.Growth", "20", "200"];
  const options = ["--every", "50ms", "--overhead", "100%", "--replace", "-o", file];
  const child = spawn(PROGRAM, ["record", ...options, "--", ...program], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  await line(child, /^READY/);
  const ended = new Promise((end) => child.once("exit", end));
  const patience = Date.now() + 60_000;
  do {
    child.stdin!.write("grow\n");
    await new Promise((later) => setTimeout(later, 1000));
  } while (states(file) < 100 && Date.now() < patience);
  child.stdin!.end();
  await ended;
  return file;
}

/** A program that allocates in many places. */
export async function recordOrders(folder: string, file: string, rounds: number): Promise<string> {
  const program = [java("java"), "-Xmx300m", "-cp", folder, "Orders", String(rounds), "700"];
  const options = ["--every", "700ms", "--overhead", "60%", "--contents", "--replace", "-o", file];
  const child = spawn(PROGRAM, ["record", ...options, "--", ...program], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  await new Promise((ended) => child.once("exit", ended));
  return file;
}

/** How many states a recording has so far. */
function states(file: string): number {
  const told = execFileSync(PROGRAM, ["timeline", file, "--json", "--limit", "1"], { maxBuffer: 1 << 26 });
  return JSON.parse(told.toString()).states.length;
}

export default async function setup(project: TestProject): Promise<() => void> {
  const folder = mkdtempSync(join(tmpdir(), "anthill-e2e-"));
  // Indexes of these files go with them.
  process.env.XDG_CACHE_HOME = folder;
  compile(folder);
  // It takes a while and little work: the rest is made meanwhile.
  const lasting = recordLong(folder, join(folder, "long.trace"));

  const cache = await start(folder, "anthill.samples.MultiCache", "20000");
  const multicache = dump(cache, join(folder, "multicache.hprof"));
  cache.stdin!.end();

  const evil = await start(folder, "Hostile");
  const hostile = dump(evil, join(folder, "hostile.hprof"));
  evil.stdin!.end();

  const growing: string[] = [];
  const registry = await start(folder, "anthill.samples.GrowingRegistry", "2000", "500");
  for (let step = 1; step <= 3; step++) {
    growing.push(dump(registry, join(folder, `grow-${step}.hprof`)));
    const grown = line(registry, /^READY/);
    registry.stdin!.write("grow\n");
    await grown;
  }
  registry.stdin!.end();

  const recording = await record(folder, join(folder, "growth.trace"));
  const orders = await recordOrders(folder, join(folder, "orders.trace"), 5);

  const long = await lasting;
  const files = [multicache, recording, hostile, ...growing, long, orders];
  const server = spawn(PROGRAM, ["open", "--no-browser", ...files], { stdio: ["ignore", "pipe", "inherit"] });
  const address = await line(server, /^http/);
  project.provide("address", address);
  project.provide("program", PROGRAM);
  project.provide("server", server.pid!);
  project.provide("files", { multicache, recording, hostile, growing, long, orders });
  return () => {
    server.kill();
    rmSync(folder, { recursive: true, force: true });
  };
}
