// A page of the web view in Chromium, which remembers what went wrong in it; and the command line's answers.

import { execFileSync } from "node:child_process";
import { chromium, type Browser, type Page } from "playwright-core";
import { inject } from "vitest";

export const SOURCE = { multicache: 0, recording: 1, hostile: 2, growing: 3, long: 6, orders: 7 };

export interface Opened {
  page: Page;
  /** What the page complained about. */
  complaints: string[];
}

let browser: Browser | undefined;

export async function open(
  colorScheme: "light" | "dark" = "light",
  address = inject("address"),
): Promise<Opened> {
  browser ??= await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox"],
  });
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    colorScheme,
    bypassCSP: false,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const complaints: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("dialog", (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  await begin(page, address);
  await page.getByRole("navigation", { name: "Views" }).waitFor();
  return { page, complaints };
}

/** Opens the web view and waits until it has chosen its first view, which it would otherwise do in place of another. */
export async function begin(page: Page, address: string): Promise<void> {
  await page.goto(address);
  await page.waitForFunction(() => location.hash.startsWith("#/0"));
}

export async function close(): Promise<void> {
  await browser?.close();
  browser = undefined;
}

/** Goes to a view and waits until it has its answers. */
export async function visit(page: Page, hash: string): Promise<void> {
  await page.evaluate((to) => {
    location.hash = to;
  }, hash);
  await settled(page);
}

export async function settled(page: Page): Promise<void> {
  // A view asks as soon as it is there; what it waits for is marked.
  await page.waitForTimeout(150);
  await page.waitForFunction(() => document.querySelector(".waiting, .reading, [aria-busy=true]") === null);
}

/** What the command line says. */
export function cli<T>(command: string, file: string, ...options: string[]): T {
  const output = execFileSync(inject("program"), [command, file, "--json", "--no-progress", ...options], {
    maxBuffer: 1 << 28,
    encoding: "utf8",
  });
  return JSON.parse(output) as T;
}

export const count = (n: number) => n.toLocaleString("en-US");
