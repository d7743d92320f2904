/** Agents from npm and PyPI, each in a folder of its own below node_modules/.cache, where it stays for the next run. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { copyFile, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { root } from "../support/command.ts";
import type { Agent } from "./agent.ts";

/** Installs an agent where it is not there yet. Returns the path of what is run; undefined where there is no Python for it. */
export async function install({ package: name, version, python, bin }: Agent): Promise<string | undefined> {
  const folder = join(root, "node_modules/.cache/agents", `${name.replace(/^@/, "").replace("/", "+")}+${version}`);
  const finished = join(folder, "installed");
  if (!existsSync(finished)) {
    if (python && !(await hasVenv())) return undefined;
    await mkdir(folder, { recursive: true });
    await (python ? installByPip(folder, python) : installByNpm(folder, `${name}@${version}`));
    await writeFile(finished, "");
  }
  const program = join(import.meta.dirname, "clients", bin);
  if (existsSync(program)) await copyFile(program, join(folder, bin));
  return join(folder, bin);
}

async function installByNpm(folder: string, what: string): Promise<void> {
  await writeFile(join(folder, "package.json"), '{ "private": true }\n');
  await run("npm", ["install", "--no-audit", "--no-fund", "--loglevel=error", what], folder);
}

async function installByPip(folder: string, what: readonly string[]): Promise<void> {
  await run("python3", ["-m", "venv", "."], folder);
  await run("bin/pip", ["install", "--quiet", "--disable-pip-version-check", ...what], folder);
}

/** Reports whether there is a Python that can make a venv with pip in it. */
async function hasVenv(): Promise<boolean> {
  return run("python3", ["-c", "import ensurepip, venv"], root).then(
    () => true,
    () => false,
  );
}

async function run(command: string, args: readonly string[], cwd: string): Promise<void> {
  const child = spawn(command, args, { cwd, stdio: ["ignore", "ignore", "inherit"] });
  const [code] = await once(child, "exit");
  if (code !== 0) throw new Error(`${command} ${args.join(" ")} ended with ${code}`);
}
