/** Makes executables with everything inside, by Node's own single executable applications: https://nodejs.org/api/single-executable-applications.html */
import { execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { executableOptions } from "../src/commands/engine/options.ts";
import { pathsBelow } from "../src/package/package-files.ts";
import { root } from "./bundle.ts";
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
export function makeExecutable(name: string, { packageFolder, work, output }: ExecutableOptions): void {
  const platform = platforms.get(name);
  if (!platform) throw new Error(`there is no platform ${name}: choose of ${[...platforms.keys()].join(", ")}`);
  mkdirSync(work, { recursive: true });
  const assets = assetsOf(packageFolder, platform);
  const program = writeProgram(packageFolder, work);
  if (name === ownPlatform) keepCompiled(program, join(packageFolder, serverFolder, serverChunk));
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

/** Commands whose compiled chunks are kept, over one data folder, in their order. */
const kept = [
  "serve",
  "help",
  "accounts create --name first",
  "accounts list",
  "accounts suspend first",
  "accounts reinstate first",
  "recharge --account first --amount 5",
  "grant --account first --amount 5",
  "refund --account first --amount 1",
  "keys create --account first --name first",
  "keys list",
  "users invite --account first --email first@example.com",
  "users list",
  "codes create --amount 5",
  "codes list",
  "config apply stored.yaml",
  "config test-upstream nobody",
  "config export",
  "config versions",
  "config compare 1",
  "models sync prices.json",
  "import litellm litellm.yaml",
  "reconcile",
  "backup kept.backup",
  "restore kept.backup --force",
  "compact",
].map((command) => command.split(" "));

/** The files that those commands read, by their names in the working folder. */
const read = {
  "stored.yaml":
    "embedded_models: true\nupstreams: [{ name: nobody, kind: openai, base_url: http://127.0.0.1:9/v1 }]\n",
  "prices.json": JSON.stringify({
    "gpt-4o": { litellm_provider: "openai", mode: "chat", input_cost_per_token: 2.5e-6 },
  }),
  "litellm.yaml": "model_list: []\n",
};

/** Runs commands of the program with the executable's options, so that the compiled forms of its chunks lie beside them. */
function keepCompiled(program: string, filename: string): void {
  const maker = join(root, "packaging/keep-compiled.cjs");
  const node = nodeOf(platforms.get(ownPlatform) as Platform);
  const data = mkdtempSync(join(tmpdir(), "model-gateway-build-"));
  const env = {
    PATH: process.env.PATH,
    HOST: "127.0.0.1",
    PORT: "0",
    METRICS_PORT: "0",
    DATA_DIR: data,
    LOG_LEVEL: "silent",
  };
  try {
    for (const [name, text] of Object.entries(read)) writeFileSync(join(data, name), text);
    for (const command of kept) {
      const args = [...executableOptions(), maker, program, filename, ...command];
      const { status, stderr } = spawnSync(node, args, {
        cwd: data,
        stdio: ["ignore", "ignore", "pipe"],
        timeout: 60_000,
        env,
      });
      // Code 1 says that the upstream, which nobody is, does not answer.
      if (status !== 0 && status !== 1) throw new Error(`model-gateway ${command.join(" ")}: ${stderr}`);
    }
  } finally {
    rmSync(data, { recursive: true, force: true });
  }
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
