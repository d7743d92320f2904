/**
 * Bundles the gateway once for a run of the tests, as `npm run build` does, so that each process of it that a test starts loads one file
 * and not a thousand. What was bundled stays in node_modules/.cache by what it was made of: a second run finds it there.
 *
 * `TEST_BUNDLE` is then the folder, laid out as the npm package is. What is no program in it is linked: pages, protos, contract.
 */
import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { borrowed, pathsBelow } from "../../../src/package/package-files.ts";
import { root } from "../command.ts";

const cache = join(root, "node_modules/.cache/test-gateway");

/** sources are what programs are made of, and what makes them. */
const sources = ["src/", "gen/", "packaging/", "catalog/", "bin/", "package.json", "package-lock.json"];

/** linked is what the gateway reads from its package, as it is. */
const linked = ["package.json", "LICENSE", "gateway.example.yaml", "dashboard", "gen", "licenses", "proto", "site"];

/** A bundle that no run has asked for in so many milliseconds is removed. */
const keptMs = 86_400_000;

export default async function bundleGateway(): Promise<void> {
  // Another of the projects of vitest.config.ts has it already.
  if (process.env.TEST_BUNDLE !== undefined) return;
  const folder = join(cache, sumOfSources());
  if (!existsSync(folder)) await make(folder);
  const now = new Date();
  utimesSync(folder, now, now);
  removeOld();
  process.env.TEST_BUNDLE = folder;
}

function sumOfSources(): string {
  const sum = createHash("sha256")
    .update(process.version)
    .update(readFileSync(import.meta.filename));
  for (const source of sources) {
    const paths = source.endsWith("/") ? pathsBelow(join(root, source)).map((path) => source + path) : [source];
    for (const path of paths.sort()) sum.update(path).update(readFileSync(join(root, path)));
  }
  return sum.digest("hex").slice(0, 20);
}

/** Makes it aside and moves it: two runs may begin at once, and one that is killed leaves no half. */
async function make(folder: string): Promise<void> {
  // Loaded where there is something to bundle: it takes longer than to find that there is not.
  const { bundlePrograms } = await import("../../../packaging/programs.ts");
  const { readCatalogueAssets } = await import("../../../packaging/assets.ts");
  const { addonsFolder } = await import("../../../packaging/npm-package.ts");
  const { files } = await bundlePrograms();
  mkdirSync(cache, { recursive: true });
  const made = mkdtempSync(join(cache, "made-"));
  // Some tests run it as another user.
  chmodSync(made, 0o755);
  const write = (path: string, content: string | Buffer) => {
    mkdirSync(dirname(join(made, path)), { recursive: true });
    writeFileSync(join(made, path), content);
  };
  for (const [path, content] of [...files, ...readCatalogueAssets()]) write(path, content);
  const { resolve } = createRequire(import.meta.url);
  for (const [path, lender] of borrowed) write(path, readFileSync(resolve(lender)));
  write("bin/model-gateway.js", readFileSync(join(root, "bin/model-gateway.js")));
  // As in the package: the starter is a module, the bundles are not.
  write("bin/package.json", '{ "type": "module" }\n');
  write("dist/package.json", '{ "type": "commonjs" }\n');
  symlinkSync(addonsFolder(), join(made, "addons"));
  for (const path of linked) symlinkSync(join(root, path), join(made, path));
  try {
    renameSync(made, folder);
  } catch (error) {
    rmSync(made, { recursive: true, force: true });
    if (!existsSync(folder)) throw error;
  }
}

function removeOld(): void {
  for (const name of readdirSync(cache)) {
    const path = join(cache, name);
    const { mtimeMs } = statSync(path, { throwIfNoEntry: false }) ?? { mtimeMs: Number.POSITIVE_INFINITY };
    if (Date.now() - mtimeMs > keptMs) rmSync(path, { recursive: true, force: true });
  }
}
