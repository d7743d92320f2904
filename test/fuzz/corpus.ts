/** The cases in which there once was a difference: a file each, in a folder for each target. */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { SavedCase } from "./target.ts";

const root = join(import.meta.dirname, "corpus");

export interface CorpusFile {
  readonly path: string;
  readonly saved: SavedCase;
}

export function readCorpus(target: string): CorpusFile[] {
  const folder = join(root, target);
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder).filter((name) => name.endsWith(".json"));
  return names.sort().map((name) => {
    const path = join(folder, name);
    return { path, saved: JSON.parse(readFileSync(path, "utf8")) as SavedCase };
  });
}

/** Returns where it stands. The same case has the same name. */
export function saveCase(target: string, saved: SavedCase): string {
  const text = `${JSON.stringify(saved, null, 2)}\n`;
  const folder = join(root, target);
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `${createHash("sha256").update(text).digest("hex").slice(0, 12)}.json`);
  writeFileSync(path, text);
  return path;
}
