// Puts the licences of everything that becomes part of the pages into one file beside them.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Plugin } from "vite";

const LICENCE = /^(licen[cs]e|notice|ofl)/i;

/** The folder of the package that a module comes from. */
function packageOf(module: string): string | null {
  return /^(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(module.replaceAll("\\", "/"))?.[1] ?? null;
}

function text(folder: string): string {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const files = readdirSync(folder, { withFileTypes: true }).filter(
    (file) => file.isFile() && LICENCE.test(file.name),
  );
  const texts = files.map((file) => readFileSync(join(folder, file.name), "utf8").trim());
  return [`${name} ${version} (${license})`, ...texts].join("\n\n");
}

export function licenses(): Plugin {
  return {
    name: "licenses",
    apply: "build",
    generateBundle() {
      // Fonts are named by style sheets, which are no modules of the bundle.
      const { dependencies } = JSON.parse(readFileSync("package.json", "utf8"));
      const named = Object.keys(dependencies).map((name) => join(process.cwd(), "node_modules", name));
      const bundled = [...this.getModuleIds()].flatMap((module) => packageOf(module) ?? []);
      const folders = new Set(
        [...named, ...bundled].filter((folder) => existsSync(join(folder, "package.json"))),
      );
      const source = [...folders]
        .sort()
        .map(text)
        .join(`\n\n${"-".repeat(100)}\n\n`);
      this.emitFile({ type: "asset", fileName: "licenses.txt", source });
    },
  };
}
