/**
 * The tools that look at the files of deploy/ and .github/. `tools/deploy-tools.sh` installs them; where one is absent its tests are
 * skipped by name.
 */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { root } from "../support/command.ts";

const installed = join(root, "node_modules/.cache/deploy-tools/bin");
const folders = [installed, ...(process.env.PATH ?? "").split(":")];

/** The PATH that has them. */
export const toolPath = folders.join(":");

export type Tool = "actionlint" | "caddy" | "compose-spec" | "hadolint" | "helm" | "kubectl" | "kubernetes-validate";

/** Returns whether all of them are there. */
export function has(...names: readonly (Tool | "systemd-analyze" | "systemd-sysusers")[]): boolean {
  return names.every((name) => folders.some((folder) => existsSync(join(folder, name))));
}

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly cwd?: string;
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs a program to its end. */
export function run(name: string, args: readonly string[], { env, ...options }: RunOptions = {}): Ran {
  const whole = { ...process.env, PATH: toolPath, ...env };
  const { status, stdout, stderr, error } = spawnSync(name, args, { encoding: "utf8", env: whole, ...options });
  if (error) throw error;
  return { code: status, stdout, stderr };
}
