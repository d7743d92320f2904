/** Agents from npm, each in a folder of its own below node_modules/.cache, where it stays for the next run. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { copyFile, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { root } from "../support/command.ts";
import type { Agent } from "./agent.ts";
import { openaiAgentsProgram } from "./clients/openai-agents.ts";

/** Installs an agent where it is not there yet. Returns the path of what is run. */
export async function install({ package: name, version, bin }: Agent): Promise<string> {
  const folder = join(root, "node_modules/.cache/agents", `${name.replace(/^@/, "").replace("/", "+")}+${version}`);
  const finished = join(folder, "installed");
  if (!existsSync(finished)) {
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, "package.json"), '{ "private": true }\n');
    await npm(["install", "--no-audit", "--no-fund", "--loglevel=error", `${name}@${version}`], folder);
    await writeFile(finished, "");
  }
  if (bin.endsWith(".mjs")) await copyFile(openaiAgentsProgram, join(folder, bin));
  return join(folder, bin);
}

async function npm(args: readonly string[], cwd: string): Promise<void> {
  const child = spawn("npm", args, { cwd, stdio: ["ignore", "ignore", "inherit"] });
  const [code] = await once(child, "exit");
  if (code !== 0) throw new Error(`npm ${args.join(" ")} ended with ${code}`);
}
