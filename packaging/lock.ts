/** Reads package-lock.json. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./bundle.ts";

/** Locked is what is locked of a package. */
export interface Locked {
  readonly version: string;
  /** The sum of its archive, as `sha512-` and base64. */
  readonly integrity: string;
}

const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as {
  readonly packages: Readonly<Record<string, Locked>>;
};

/** Returns what is locked of a package of the project. Throws where there is no such package. */
export function lockOf(name: string): Locked {
  const locked = packages[`node_modules/${name}`];
  if (!locked) throw new Error(`package-lock.json has no ${name}`);
  return locked;
}
