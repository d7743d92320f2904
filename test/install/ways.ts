/** The ways of installing the gateway that `npm run build` makes, each in a folder of its own. */
import { execFileSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bin, Running, root, systemNode } from "../support/command.ts";

export interface Way {
  readonly name: string;
  /** The folder of the gateway's data, as this process sees it. */
  readonly data: string;
  /** The same folder as the gateway sees it. */
  readonly inside: string;
  /** Starts a command of the gateway, with these variables. */
  start(args: readonly string[], env: Readonly<Record<string, string>>): Running;
}

const dist = join(root, "dist");

/** A folder for all ways; `remove` takes it away. */
export interface Workshop {
  readonly folder: string;
  remove(): void;
}

export function openWorkshop(): Workshop {
  const folder = mkdtempSync(join(tmpdir(), "model-gateway-install-"));
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** Returns the ways that this machine can try, and the names of the others with what each lacks. */
export function waysIn({ folder }: Workshop): { ways: readonly Way[]; skipped: readonly string[] } {
  if (!existsSync(join(dist, "model-gateway")))
    throw new Error("dist/model-gateway is missing: npm run build makes it");
  const debian = process.env.DEBIAN_ROOT;
  const isEmptyRootThere =
    process.getuid?.() === 0 && debian !== undefined && existsSync(join(debian, "etc/debian_version"));
  return {
    ways: [
      clone(folder),
      npmPackage(folder),
      executable(folder),
      ...(isEmptyRootThere ? [executableInEmptyDebian(debian)] : []),
    ],
    skipped: isEmptyRootThere
      ? []
      : ["executable in an empty Debian: needs root, and DEBIAN_ROOT as tools/newcomer.sh keeps it"],
  };
}

function clone(folder: string): Way {
  const data = join(folder, "clone/data");
  return {
    name: "clone",
    ...{ data, inside: data },
    start: (args, env) => new Running(systemNode, [bin, ...args], { ...env, DATA_DIR: data }),
  };
}

function npmPackage(folder: string): Way {
  const here = join(folder, "npm");
  mkdirSync(here);
  writeFileSync(join(here, "package.json"), "{}");
  const [tarball = ""] = globSync(join(dist, "model-gateway-[0-9]*.tgz"));
  execFileSync("npm", ["install", "--no-audit", "--no-fund", "--offline", tarball], { cwd: here, stdio: "ignore" });
  const starter = join(here, "node_modules/model-gateway/bin/model-gateway.js");
  const data = join(here, "data");
  return {
    name: "npm package",
    ...{ data, inside: data },
    start: (args, env) => new Running(process.execPath, [starter, ...args], env, { cwd: here }),
  };
}

function executable(folder: string): Way {
  const here = join(folder, "executable");
  mkdirSync(here);
  cpSync(join(dist, "model-gateway"), join(here, "model-gateway"));
  const start: Way["start"] = (args, env) => new Running(join(here, "model-gateway"), args, env, { cwd: here });
  const data = join(here, "data");
  return { name: "executable", data, inside: data, start };
}

function executableInEmptyDebian(debian: string): Way {
  const here = join(debian, "opt/gateway");
  rmSync(here, { recursive: true, force: true });
  mkdirSync(here, { recursive: true });
  cpSync(join(dist, "model-gateway"), join(here, "model-gateway"));
  const run = 'cd /opt/gateway && exec ./model-gateway "$@"';
  const start: Way["start"] = (args, env) => {
    const variables = Object.entries({ METRICS_PORT: "0", ...env }).map(([name, value]) => `${name}=${value}`);
    const inside = ["/usr/bin/env", "-i", ...variables, "/bin/sh", "-c", run, "model-gateway", ...args];
    return new Running("chroot", [debian, ...inside], {});
  };
  return { name: "executable in an empty Debian", data: join(here, "data"), inside: "/opt/gateway/data", start };
}

/**
 * Returns the way of the version before this one, in a work tree of its own: the last commit with another version in package.json.
 * Undefined where the history does not reach so far.
 */
export function previousVersion(folder: string): Way | undefined {
  const git = (...args: string[]) => execFileSync("git", args, { cwd: root, encoding: "utf8", stdio: "pipe" }).trim();
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const changed = git("log", "-1", "--format=%H", `-G"version": "${version}"`, "--", "package.json");
  const tree = join(folder, "previous");
  try {
    git("worktree", "add", "--detach", tree, `${changed}^`);
  } catch {
    return undefined;
  }
  symlinkSync(join(root, "node_modules"), join(tree, "node_modules"));
  const data = join(folder, "previous-data");
  const starter = join(tree, "bin/model-gateway.js");
  return {
    name: "the version before",
    ...{ data, inside: data },
    start: (args, env) => new Running(systemNode, [starter, ...args], { ...env, DATA_DIR: data }),
  };
}

/** Takes the work tree of the version before away, if there is one. */
export function forgetPrevious(folder: string): void {
  const tree = join(folder, "previous");
  if (existsSync(tree)) execFileSync("git", ["worktree", "remove", "--force", tree], { cwd: root, stdio: "ignore" });
}
