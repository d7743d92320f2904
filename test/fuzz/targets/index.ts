/** The targets by name. A file is loaded when its target is asked for: some bring a whole gateway along. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { bySeed, type FuzzOptions, type Target } from "../target.ts";

interface Entry {
  readonly file: string;
  /** What it exports: a target, or a function that fuzzes and names its seeds (`bySeed`). */
  readonly name: string;
}

const entries: ReadonlyMap<string, Entry> = new Map([
  ["server", { file: "server.ts", name: "server" }],
  ["client", { file: "client.ts", name: "client" }],
  ["answers", { file: "answers.ts", name: "fuzzAnswers" }],
  ["quick-check", { file: "quick-check.ts", name: "fuzzQuickCheck" }],
]);

const pathOf = ({ file }: Entry) => join(import.meta.dirname, file);

/** The names of the targets that there are. */
export const targetNames: readonly string[] = [...entries].flatMap(([name, entry]) =>
  existsSync(pathOf(entry)) ? [name] : [],
);

export async function loadTarget(name: string): Promise<Target> {
  const entry = entries.get(name);
  if (!entry || !targetNames.includes(name)) {
    throw new Error(`there is no target ${name}; there are ${targetNames.join(", ")}`);
  }
  const exported = (await import(pathToFileURL(pathOf(entry)).href))[entry.name] as
    | Target
    | ((options: FuzzOptions) => Promise<void>);
  return typeof exported === "function" ? bySeed(exported) : exported;
}
