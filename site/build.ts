/**
 * Builds the documentation into site/dist. Fails on a link that leads nowhere.
 *
 *   node site/build.ts                 to be served by the gateway, below /docs/
 *   node site/build.ts --base / --out FOLDER    to be published elsewhere
 *
 * The new files are built in a folder beside and then moved one by one, so that a gateway that reads them meanwhile finds all.
 */
import { hash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { pathsBelow } from "../src/package/package-files.ts";
import { codeRulesPath } from "./code-styles.ts";
import { checkLinks } from "./links.ts";
import { collection, referencePages } from "./reference/api/pages.ts";
import { sidebarFile, sidebarFor } from "./sidebar-links.ts";
import { sourcesIn, stage } from "./stage.ts";

const folder = import.meta.dirname;
const root = join(folder, "..");

export interface BuildOptions {
  /** The path below which the site is served, with slashes at both ends. */
  readonly base: string;
  /** out is where the files go. What is there and not of the site is removed. */
  readonly out: string;
}

export async function buildSite({ base, out }: BuildOptions): Promise<void> {
  process.env.NODE_ENV = "production";
  // Loaded here, so that the rest of this file can be used where the development dependencies were left out.
  const { build } = await import("vitepress");
  stageAll();
  mkdirSync(dirname(out), { recursive: true });
  const fresh = mkdtempSync(`${out}-`);
  try {
    await build(folder, { base, outDir: fresh });
    finish(fresh, base);
    const dead = checkLinks(fresh, base);
    if (dead.length > 0) throw new Error(`links of the site lead nowhere:\n${dead.join("\n")}`);
    place(fresh, out);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

/** Puts all pages into a folder of their own, the front page and the reference of the API among them. */
function stageAll(): void {
  const reference = referencePages(JSON.parse(readFileSync(join(root, "gen/openapi.json"), "utf8")));
  const made = new Map([
    ["index.md", readFileSync(join(folder, "index.md"), "utf8")],
    [sidebarFile, JSON.stringify(sidebarFor(sourcesIn(root), reference))],
    ...reference.map(({ address, text }) => [`${address.slice(1)}.md`, text] as const),
  ]);
  stage({ root, folder: join(folder, "pages"), made, files: ["gen/openapi.json", collection] });
}

/** Writes the colours of code into a file that every page loads, and takes out what the content security policy refuses. */
function finish(built: string, base: string): void {
  const rules = readFileSync(join(built, codeRulesPath), "utf8");
  const name = `assets/code.${hash("sha256", rules, "hex").slice(0, 8)}.css`;
  renameSync(join(built, codeRulesPath), join(built, name));
  for (const path of pathsBelow(built).filter((one) => one.endsWith(".html"))) {
    const html = readFileSync(join(built, path), "utf8");
    // What is left of styles in pages are variables that the theme sets again once it runs.
    const plain = html.replace(/(<[^>]*?) style="[^"]*"/g, "$1");
    writeFileSync(
      join(built, path),
      plain.replace("</head>", `<link rel="stylesheet" href="${base}${name}">\n</head>`),
    );
  }
  rmSync(join(built, "hashmap.json"), { force: true });
  writeFileSync(join(built, "llms.txt"), indexAt(base));
}

/** Returns the index for language models with the site's own addresses. */
function indexAt(base: string): string {
  const index = readFileSync(join(root, "gen/llms.txt"), "utf8");
  return index.replaceAll("](/openapi.json)", `](${base}files/gen/openapi.json)`).replaceAll("](/docs/", `](${base}`);
}

/** Moves the files into place: first what pages ask for, then the pages. What no page asks for any more is removed last. */
function place(from: string, to: string): void {
  const isPage = (file: string) => Number(file.endsWith(".html"));
  const files = pathsBelow(from).sort((a, b) => isPage(a) - isPage(b));
  for (const file of files) {
    mkdirSync(dirname(join(to, file)), { recursive: true });
    renameSync(join(from, file), join(to, file));
  }
  for (const file of pathsBelow(to)) if (!files.includes(file)) rmSync(join(to, file), { force: true });
}

/** Reports whether the tools are there: they are not where the development dependencies were left out. */
function canBuild(): boolean {
  try {
    import.meta.resolve("vitepress");
    return true;
  } catch {
    return false;
  }
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { base: { type: "string" }, out: { type: "string" } } });
  const options = { base: values.base ?? "/docs/", out: resolve(values.out ?? join(folder, "dist")) };
  if (canBuild()) await buildSite(options);
  else console.warn("model-gateway: vitepress is not installed, so the documentation is not built");
}
