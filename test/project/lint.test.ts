/**
 * The lint rules of our own (`tools/lint`) find what they were made for: source that was once ours, and let strangers' names
 * reach what every object has.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");

const rules = ["own-keys.grit", "texts.grit"].map((name) => join(root, "tools/lint", name));
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "lint-"));
  writeFileSync(join(folder, "biome.json"), JSON.stringify({ root: true, plugins: rules }));
});

afterAll(() => rmSync(folder, { recursive: true }));

/** Returns what our rules say of a source. */
function lint(source: string): string[] {
  writeFileSync(join(folder, "source.ts"), source);
  const biome = join(root, "node_modules/.bin/biome");
  const { stdout, stderr } = spawnSync(biome, ["lint", "source.ts"], { cwd: folder, encoding: "utf8" });
  if (!`${stdout}${stderr}`.includes("Checked 1 file")) throw new Error(stderr);
  return [...stderr.matchAll(/ plugin [^\n]*\n\s*×\s*([^\n]*)/g)].map(([, words]) => words as string);
}

const found: Readonly<Record<string, readonly [source: string, words: RegExp]>> = {
  "a table of an upstream's error types": [
    `const statuses: Readonly<Record<string, number>> = { invalid_request_error: 400 };
     export const statusOf = (type: string) => statuses[type] ?? 502;`,
    /is a Map/,
  ],
  "a table of the words of a header": [
    `const parts: Record<string, string> = { total: "totalMs" };
     export function partOf(name: string) { return parts[name]; }`,
    /is a Map/,
  ],
  "a name that is asked for with `in`": [
    "export const isTwice = (part: string, timeouts: object) => part in timeouts;",
    /Object\.hasOwn/,
  ],
  "a message that may be no text": [
    "export const isAboutModel = (message: unknown) => /model/.test(String(message));",
    /typeof/,
  ],
};

test.each(Object.entries(found))("finds %s", (_, [source, words]) => {
  expect(lint(source)).toEqual([expect.stringMatching(words)]);
});

test("lets maps, and names that we wrote ourselves, pass", () => {
  const source = `const statuses: ReadonlyMap<string, number> = new Map(Object.entries({ a: 400 }));
    export const statusOf = (type: unknown) => (typeof type === "string" ? statuses.get(type) : undefined);
    export const isStream = (json: object) => "stream" in json;`;
  expect(lint(source)).toEqual([]);
});

test("are asked of all of src, and of the dashboard", () => {
  const { overrides } = JSON.parse(readFileSync(join(root, "biome.json"), "utf8"));
  expect(overrides).toContainEqual({
    includes: ["src/**", "dashboard/src/**"],
    plugins: ["./tools/lint/own-keys.grit"],
  });
});
