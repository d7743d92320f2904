/**
 * Makes the npm package `model-gateway`: a folder that `npm pack` takes as it is. It has no dependencies, for all programs are
 * bundled, and no script at its installation. The executable is made of the same folder.
 */
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { readAssets } from "./assets.ts";
import { root } from "./bundle.ts";
import type { Programs } from "./programs.ts";

/** The oldest Node that runs the bundled gateway: 22 has no `crypto.argon2`. `bin/model-gateway.js` says so, too. */
const oldestNode = 24;

/** Writes the package into this folder, in the place of what was there. */
export function writePackage(folder: string, programs: Programs, notices: string): void {
  rmSync(folder, { recursive: true, force: true });
  const write = (path: string, content: string | Buffer) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  };
  for (const [path, content] of readAssets()) write(path, content);
  for (const [path, code] of programs.files) write(path, code);
  cpSync(addonsFolder(), join(folder, "addons"), { recursive: true });
  write("bin/model-gateway.js", readFileSync(join(root, "bin/model-gateway.js")));
  // The starter is a module, the bundles are not.
  write("bin/package.json", '{ "type": "module" }\n');
  write("THIRD-PARTY-NOTICES.txt", notices);
  write("README.md", readFileSync(join(root, "packaging/npm-readme.md")));
  write("package.json", `${JSON.stringify(manifest(), null, 2)}\n`);
}

/** Returns the folder with SQLite's addon for each platform. */
export function addonsFolder(): string {
  const { resolve } = createRequire(import.meta.url);
  return join(dirname(resolve("better-sqlite3/package.json")), "prebuilds");
}

export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly license: string;
}

export function ownManifest(): Manifest {
  return JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Manifest;
}

function manifest() {
  const { name, version, description, license } = ownManifest();
  return {
    name,
    version,
    description,
    license,
    type: "commonjs",
    bin: { [name]: "bin/model-gateway.js" },
    engines: { node: `>=${oldestNode}` },
    os: ["linux", "darwin", "win32"],
    cpu: ["x64", "arm64"],
    keywords: ["llm", "gateway", "proxy", "openai", "anthropic"],
  };
}
