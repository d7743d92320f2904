/**
 * Configurations of other gateways that are damaged in any place: what cannot be read is left out, and what is written loads. The
 * places follow from a number, so that a run that fails can be repeated.
 */
import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { loadConfig } from "../../src/config/config.ts";
import { ConfigError } from "../../src/config/config-error.ts";
import type { Imported } from "../../src/config/import/imported.ts";
import { importLiteLlm } from "../../src/config/import/litellm/import-litellm.ts";
import { referenceOf } from "../../src/config/import/litellm/secrets.ts";
import { importNewApi } from "../../src/config/import/new-api/import-new-api.ts";
import { root } from "../support/command.ts";

const fixtures = join(root, "test/fixtures");
const sources = [
  ...readdirSync(join(fixtures, "litellm")).flatMap((name) => (name.startsWith("included") ? [] : [`litellm/${name}`])),
  "new-api/channels.json",
];

/** What may stand in a place where it does not belong. */
const odd: readonly unknown[] = [
  ...[null, true, 0, -1, 1.5, 1e300, "", " ", "x y", "os.environ/A-B", "os.environ/", "*", [], {}, [1], { a: 1 }, "é"],
  ...["a".repeat(300), "http://", "https://h/?a=b", "1e-6", "2024-01-01", ["a", {}], "#x", "- y", "'", '"', "\n"],
  "__proto__",
  referenceOf("X"),
  "99999999999999999999",
];

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "import-test-"));
});
afterAll(() => rm(folder, { recursive: true }));

/** Returns numbers below a bound, the same for the same seed. */
function numbersFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return (state >> 8) % below;
  };
}

/** Returns the value with one in `rarity` of its parts replaced. */
function damaged(value: unknown, rarity: number, next: (below: number) => number): unknown {
  if (next(rarity) === 0) return odd[next(odd.length)];
  if (Array.isArray(value)) return value.map((item) => damaged(item, rarity, next));
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).map(([key, member]) => [
    next(rarity * 4) === 0 ? `odd_${key}` : key,
    damaged(member, rarity, next),
  ]);
  return Object.fromEntries(members);
}

function importOf(source: string, text: string): Imported {
  const read = (path: string) => (path === "damaged.yaml" ? text : readFileSync(path, "utf8"));
  return source.startsWith("new-api")
    ? importNewApi("damaged.yaml", undefined, read)
    : importLiteLlm("damaged.yaml", read);
}

test.each(Array.from({ length: 6 }, (_, seed) => seed + 1))("by the number %i", async (seed) => {
  const next = numbersFrom(seed);
  let loaded = 0;
  for (const source of sources) {
    const whole: unknown = parse(readFileSync(join(fixtures, source), "utf8"), { merge: true });
    const text = stringify(damaged(whole, 6 + next(30), next), { aliasDuplicateObjects: false });
    let imported: Imported;
    try {
      imported = importOf(source, text);
    } catch (error) {
      expect(error, `${source}\n${text}`).toBeInstanceOf(ConfigError);
      continue;
    }
    const file = join(folder, "gateway.yaml");
    await writeFile(file, imported.text);
    const filling = (name: string) => (/BASE|URL|^X$/.test(name) ? "https://far.example" : "v".repeat(40));
    const environment = Object.fromEntries(imported.variables.map((name) => [name, filling(name)]));
    expect(() => loadConfig(file, environment), `${source}\n${text}`).not.toThrow();
    loaded++;
  }
  expect(loaded).toBeGreaterThan(sources.length / 2);
});
