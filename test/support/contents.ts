/** Lists what is in a folder: to show that something has changed nothing. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

/** Returns the files below a folder with their bytes, as text that loses none; undefined where there is no folder. */
export function contentsOf(folder: string): Readonly<Record<string, string>> | undefined {
  if (!statSync(folder, { throwIfNoEntry: false })) return undefined;
  const paths = readdirSync(folder, { recursive: true, encoding: "utf8" }).sort();
  const files = paths.filter((path) => statSync(join(folder, path)).isFile());
  return Object.fromEntries(files.map((path) => [path, readFileSync(join(folder, path), "latin1")]));
}
