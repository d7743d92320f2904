/** Makes executables with everything inside, by Node's own single executable applications: https://nodejs.org/api/single-executable-applications.html */
import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { executableOptions } from "../src/commands/engine/options.ts";
import { pathsBelow } from "../src/package/package-files.ts";
import { root } from "./bundle.ts";
import { keepCompiled } from "./keep-compiled.ts";
import { nodeOf, ownPlatform, type Platform, platforms } from "./platforms.ts";
import { serverChunk, serverFolder } from "./programs.ts";

export interface ExecutableOptions {
  /** The folder of the npm package: what is in it goes in. */
  readonly packageFolder: string;
  /** A folder for what is made on the way. */
  readonly work: string;
  readonly output: string;
}

/** Makes the executable of a platform. Throws where its Node cannot be had. */
export async function makeExecutable(name: string, { packageFolder, work, output }: ExecutableOptions): Promise<void> {
  const platform = platforms.get(name);
  if (!platform) throw new Error(`there is no platform ${name}: choose of ${[...platforms.keys()].join(", ")}`);
  mkdirSync(work, { recursive: true });
  const assets = assetsOf(packageFolder, platform);
  const program = writeProgram(packageFolder, work);
  if (name === ownPlatform) await keepCompiled(program, join(packageFolder, serverFolder, serverChunk));
  for (const file of readdirSync(program)) assets[`program/${file}`] = join(program, file);
  const config = join(work, `${name}.json`);
  const settings = {
    main: join(work, "main.cjs"),
    mainFormat: "commonjs",
    output,
    executable: strippedNode(platform, work, name),
    disableExperimentalSEAWarning: true,
    useCodeCache: false,
    execArgv: executableOptions(),
    execArgvExtension: "cli",
    assets,
  };
  copyFileSync(join(root, "packaging/executable-main.cjs"), settings.main);
  writeFileSync(config, JSON.stringify(settings, null, 2));
  rmSync(output, { force: true });
  execFileSync(nodeOf(platforms.get(ownPlatform) as Platform), ["--build-sea", config], { stdio: "pipe" });
  chmodSync(output, 0o755);
}

/** Returns the package's files by their paths in it, but those that only npm's form needs and the addons of other platforms. */
function assetsOf(folder: string, { addon }: Platform): Record<string, string> {
  const isInside = (path: string) =>
    !path.startsWith("bin/") && !path.startsWith(`${serverFolder}/`) && (!path.startsWith("addons/") || path === addon);
  const paths = pathsBelow(folder).filter(isInside);
  return Object.fromEntries(paths.map((path) => [path, join(folder, path)]));
}

/** Writes the server's chunks, each as a function of what a module of CommonJS is given. Returns their folder. */
function writeProgram(packageFolder: string, work: string): string {
  const folder = join(work, "program");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const name of readdirSync(join(packageFolder, serverFolder))) {
    const code = readFileSync(join(packageFolder, serverFolder, name), "latin1");
    const wrapped = `(function (require, module, exports, __filename, __dirname) {${code}\n})`;
    writeFileSync(join(folder, name), wrapped, "latin1");
  }
  return folder;
}

/** Returns Node without its symbols, a fifth smaller, where the platform is this one and has `strip`; else as it is. */
function strippedNode(platform: Platform, work: string, name: string): string {
  const node = nodeOf(platform);
  if (name !== ownPlatform || process.platform !== "linux") return node;
  const stripped = join(work, "node");
  try {
    execFileSync("strip", ["--strip-all", "-o", stripped, node], { stdio: "ignore" });
    return stripped;
  } catch {
    return node;
  }
}
