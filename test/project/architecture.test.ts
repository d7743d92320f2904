/**
 * The shape of the source stays what docs/architecture.md says: which part may import which, which folders there are, how
 * many files each has, how long functions are, and that each file opens with its promise.
 */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { describe, expect, test } from "vitest";
import { filesAFolder, importCircles, longFunctionsIn, sourcesIn } from "../../tools/figures.ts";
import { tableWith } from "../support/pages.ts";

const root = join(import.meta.dirname, "../..");
const src = join(root, "src");

interface Import {
  /** A path below src, a path below the project (`gen/…`), or a package. */
  readonly target: string;
  readonly typesOnly: boolean;
}

interface Source {
  /** The path below src. */
  readonly path: string;
  readonly text: string;
  readonly imports: readonly Import[];
}

const sources: readonly Source[] = readdirSync(src, { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".ts"))
  .sort()
  .map((path) => {
    const text = readFileSync(join(src, path), "utf8");
    return { path, text, imports: importsOf(path, text) };
  });

/** Reads `import … from "x"`, `export … from "x"`, `import "x"` and `import("x")`. */
function importsOf(path: string, text: string): Import[] {
  const pattern =
    /^(?:import|export)\s+(?<types>type\s)?[^"';]*?\bfrom\s+"(?<from>[^"]+)"|^import\s+"(?<bare>[^"]+)"|\bimport\("(?<late>[^"]+)"\)/gm;
  return [...text.matchAll(pattern)].map(({ groups = {} }) => {
    const specifier = groups.from ?? groups.bare ?? groups.late ?? "";
    return { target: targetOf(path, specifier), typesOnly: groups.types !== undefined };
  });
}

function targetOf(path: string, specifier: string): string {
  if (!specifier.startsWith(".")) return specifier;
  const absolute = join(src, dirname(path), specifier);
  const below = relative(src, absolute);
  return below.startsWith("..") ? relative(root, absolute) : below;
}

/** The folder of src that a path lies in, or the file itself where it lies in src. */
function partOf(path: string): string {
  return path.split("/", 1)[0] as string;
}

/**
 * What each part of src may import of the others: a folder or file of src stands for its files, "(types)" for `import type` only.
 * Its own files, `gen` and packages are open to all.
 */
const arrows: Readonly<Record<string, readonly string[]>> = {
  "main.ts": ["commands", "config", "package/version.ts", "runtime/write-trouble.ts"],
  commands: [
    ...[
      "composition",
      "services",
      "pipeline/check/audit.ts",
      "pipeline/check/validate.ts",
      "pipeline/handle.ts",
      "limits/owner",
    ],
    ...["targets", "storage", "config", "call", "wire", "package", "runtime"],
  ],
  composition: [
    ...["doors", "services", "pipeline", "providers", "embedded", "targets", "telemetry", "ledger", "limits", "tokens"],
    ...["storage (types)", "config", "http1/client/index.ts", "wire/check/index.ts"],
    ...["call", "package", "runtime"],
  ],
  doors: ["http1/server/index.ts", "call", "wire", "package", "runtime"],
  services: [
    ...["pipeline", "families", "providers/contract.ts (types)", "limits", "storage"],
    ...["targets (types)", "config", "call", "wire", "runtime"],
  ],
  pipeline: [
    ...["families", "providers/contract.ts (types)", "providers/errors/fault.ts", "providers/usage"],
    ...["providers/upstream/timeouts.ts (types)", "ledger", "limits", "targets", "tokens", "storage (types)"],
    ...["call", "wire", "runtime"],
  ],
  families: [
    ...[
      "providers/anthropic/generation.ts",
      "providers/anthropic/picture-type.ts",
      "providers/usage",
      "providers/profile/instructions.ts",
    ],
    ...["providers/profile/reasoning-object.ts", "providers/profile/reasoning-seal.ts"],
    ...["providers/profile/schemas/root-schema.ts", "providers/profile/sealed-signature.ts", "call", "wire", "runtime"],
  ],
  providers: ["http1/client/index.ts", "config", "tokens/decoder.ts", "call", "wire", "runtime"],
  embedded: ["providers/contract.ts", "providers/upstream/timeouts.ts", "tokens", "call", "wire", "package", "runtime"],
  targets: ["ledger/price-of.ts", "config (types)", "call"],
  ledger: [
    ...["storage/money/contract.ts (types)", "storage/money/books.ts"],
    ...["config (types)", "tokens/media", "call", "wire (types)", "wire/is-object.ts", "runtime"],
  ],
  limits: ["runtime"],
  telemetry: ["pipeline/observe.ts (types)", "call", "runtime"],
  tokens: ["call", "wire (types)", "wire/is-object.ts", "package", "runtime"],
  storage: ["ledger/reprice.ts", "ledger/price-card.ts", "package", "runtime"],
  config: ["call/tiers.ts", "call/price.ts", "call/key-bounds.ts", "call/conflicts.ts", "package", "runtime"],
  http1: ["runtime"],
  call: ["wire", "runtime"],
  wire: ["runtime"],
  package: [],
  runtime: [],
};

function mayImport(from: string, found: Import): boolean {
  if (partOf(found.target) === partOf(from)) return true;
  return (arrows[partOf(from)] ?? []).some((entry) => fits(entry, found));
}

function fits(arrow: string, { target, typesOnly }: Import): boolean {
  const [open, condition] = arrow.split(" ") as [string, string?];
  return (target === open || target.startsWith(`${open}/`)) && (condition === undefined || typesOnly);
}

function faults(check: (source: Source, found: Import) => boolean): string[] {
  return sources.flatMap((source) =>
    source.imports.filter((found) => check(source, found)).map(({ target }) => `${source.path} → ${target}`),
  );
}

const isOurs = ({ target }: Import) => sources.some(({ path }) => path === target);

describe("imports", () => {
  test("are all read by this test", () => {
    for (const { path, text, imports } of sources) {
      // Every line that ends in a module's name belongs to an import that was read.
      const written = text.match(/^(?:import|export)?.*\bfrom\s+"[^"]+";$|^import\s+"|\bimport\(/gm) ?? [];
      expect(imports.length, path).toBe(written.length);
    }
  });

  test("name a file that exists, a package, or generated code", () => {
    const local = ({ target }: Import) => /\.ts$/.test(target) && !target.startsWith("gen/");
    expect(faults((_, found) => local(found) && !isOurs(found))).toEqual([]);
  });

  test("go only where the arrows point", () => {
    expect(faults(({ path }, found) => isOurs(found) && !mayImport(path, found))).toEqual([]);
  });

  test("go where every arrow points: one that is not needed is not there", () => {
    const unused = Object.entries(arrows).flatMap(([part, entries]) => {
      const found = sources.filter(({ path }) => partOf(path) === part).flatMap(({ imports }) => imports);
      return entries.filter((entry) => !found.some((one) => fits(entry, one))).map((entry) => `${part} → ${entry}`);
    });
    expect(unused).toEqual([]);
  });

  test("have an arrow for every part of src, and no arrow for a part that is gone", () => {
    expect([...new Set(sources.map(({ path }) => partOf(path)))].sort()).toEqual(Object.keys(arrows).sort());
  });

  test("never lead from one provider to another", () => {
    // The one makes those of upstreams, the other that of the embedded models.
    const listsOfProviders = new Set(["composition/live/providers.ts", "composition/live/upstreams.ts"]);
    const concrete = (path: string) =>
      /^(?:embedded\/|providers\/openai\/dialect\.ts$|providers\/anthropic\/dialect\.ts$)/.exec(path)?.[0];
    expect(
      faults(({ path }, { target }) => {
        const from = concrete(path);
        const to = concrete(target);
        // The catalogue tells the bounds of the embedded model.
        if (target === "embedded/chat/bounds.ts" && path === "composition/embedded-models.ts") return false;
        if (from === undefined) return to !== undefined && !listsOfProviders.has(path);
        return (
          (to !== undefined && to !== from) ||
          (from === "embedded/" &&
            target.startsWith("providers/upstream/") &&
            target !== "providers/upstream/timeouts.ts")
        );
      }),
    ).toEqual([]);
  });

  test("lead into each half of http1 by its index alone, and not from one half to the other", () => {
    const half = (path: string) => /^http1\/(?:server|client)\//.exec(path)?.[0];
    expect(
      faults(({ path }, { target }) => {
        const to = half(target);
        if (to === undefined || to === half(path)) return false;
        return path.startsWith("http1/") || target !== `${to}index.ts`;
      }),
    ).toEqual([]);
  });

  test("make no circle, types included", () => {
    expect(importCircles(sourcesIn("src"))).toEqual([]);
  });

  test("reach the composition of the gateway from the command line alone", () => {
    const users = ["commands", "composition"];
    expect(faults(({ path }, { target }) => partOf(target) === "composition" && !users.includes(partOf(path)))).toEqual(
      [],
    );
    expect(faults((_, { target }) => target === "main.ts")).toEqual([]);
  });

  test("name the database's driver in one file", () => {
    expect(faults((_, { target }) => target === "better-sqlite3")).toEqual([
      "storage/engines/sqlite/database.ts → better-sqlite3",
    ]);
  });
});

test("the environment is read in one file", () => {
  const readers = sources.filter(({ text }) =>
    /\bprocess\s*(?:\.\s*env\b|\[)|\benv\b[^;]*from\s+"node:process"/.test(text),
  );
  expect(readers.map(({ path }) => path)).toEqual(["config/process-environment.ts"]);
});

test("no file or folder is named for what nobody could say", () => {
  const vague = /(?:^|\/|-)(?:utils?|common|shared|core|helpers?|misc)(?:-|\.ts$|\/)/;
  expect(sources.map(({ path }) => path).filter((path) => vague.test(path))).toEqual([]);
});

/** Functions that may be longer than the rest, and why. The list only ever shrinks. */
const longFunctions: Readonly<Record<string, string>> = {
  "src/storage/engines/sqlite/migrations/0003-money.ts up": "a table is said once",
  "src/storage/engines/sqlite/migrations/0004-dashboard.ts up": "a table is said once",
};

describe("functions", () => {
  const long = longFunctionsIn(sourcesIn("src")).map(({ id }) => id);

  test("have at most 60 lines, but for those that say why", () => {
    expect(long.filter((id) => !(id in longFunctions))).toEqual([]);
  });

  test("are no exception that need not be one", () => {
    expect(Object.keys(longFunctions).filter((id) => !long.includes(id))).toEqual([]);
  });
});

describe("folders", () => {
  const folders = filesAFolder(sourcesIn("src"));

  test("hold at most 15 files", () => {
    // Migrations are numbered, and none ever goes.
    expect(folders.filter(([folder, files]) => files > 15 && !folder.endsWith("/migrations"))).toEqual([]);
  });

  test("are the only things in src beside main.ts", () => {
    expect(folders.find(([folder]) => folder === "src")).toEqual(["src", 1]);
  });
});

test("files open with what they promise", () => {
  expect(sources.filter(({ text }) => !/^\/\*\*\s/.test(text)).map(({ path }) => path)).toEqual([]);
});

describe("the dashboard", () => {
  const pages = join(root, "dashboard/src");
  const files = readdirSync(pages, { recursive: true, encoding: "utf8" }).filter((path) => /\.tsx?$/.test(path));
  const texts = files.map((path) => ({ path, text: readFileSync(join(pages, path), "utf8") }));

  test("knows of the gateway what its contract says, and nothing of its source", () => {
    const outside = texts.flatMap(({ path, text }) =>
      [...text.matchAll(/\bfrom\s+"(\.[^"]+)"|\bimport\("(\.[^"]+)"\)/g)]
        .map(([, from, late]) => relative(root, join(pages, dirname(path), from ?? late ?? "")))
        .filter((target) => !/^(?:dashboard\/src|gen)\//.test(target))
        .map((target) => `${path} → ${target}`),
    );
    expect(outside).toEqual([]);
  });

  test("has files of at most 250 lines that open with what they promise", () => {
    const long = texts.filter(({ text }) => text.trimEnd().split("\n").length > 250).map(({ path }) => path);
    expect(long).toEqual([]);
    expect(texts.filter(({ text }) => !/^\/\*\*\s/.test(text)).map(({ path }) => path)).toEqual([]);
  });

  test("puts no text into a page but as text", () => {
    const wild = texts.filter(({ text }) => /dangerouslySetInnerHTML|\.innerHTML|document\.write|\beval\(/.test(text));
    expect(wild.map(({ path }) => path)).toEqual([]);
  });
});

test("the arrows in docs/architecture.md are those that this test holds", () => {
  const cell = (arrow: string) => arrow.replace(/^(\S+)/, "`$1`").replace(" (types)", " *types*");
  const rows = Object.entries(arrows).map(([part, open]) => `| \`${part}\` | ${open.map(cell).join(", ") || "–"} |`);
  const table = tableWith("docs/architecture.md", "part", "may import").map((row) => `| ${row.join(" | ")} |`);
  expect(table.join("\n")).toBe(rows.join("\n"));
});

describe("the tree in docs/architecture.md", () => {
  /** `folder/  what it is`, a line a folder, in the text block that has the line `src/`. */
  const named = () => {
    const markdown = readFileSync(join(root, "docs/architecture.md"), "utf8");
    const block = [...markdown.matchAll(/^```text\n(.*?)^```$/gms)]
      .map(([, body]) => body as string)
      .find((body) => /^src\/$/m.test(body));
    if (!block) throw new Error("docs/architecture.md has no ```text block with a line `src/`");
    const open: { readonly depth: number; readonly path: string }[] = [];
    return block.split("\n").flatMap((line) => {
      const parts = /^(?<indent> *)(?<name>\S+\/)(?: +(?<words>\S.*))?$/.exec(line)?.groups;
      if (!parts) return [];
      const depth = parts.indent?.length ?? 0;
      while ((open.at(-1)?.depth ?? -1) >= depth) open.pop();
      const path = (open.at(-1)?.path ?? "") + parts.name;
      open.push({ depth, path });
      return [{ path: path.replace(/\/$/, ""), words: parts.words }];
    });
  };

  test("names every folder of src, once, and none that is not there", () => {
    const folders = new Set<string>();
    for (const path of sourcesIn("src")) for (let at = dirname(path); at !== "."; at = dirname(at)) folders.add(at);
    expect(
      named()
        .map(({ path }) => path)
        .filter((path) => path.startsWith("src"))
        .sort(),
    ).toEqual([...folders].sort());
  });

  test("says of every folder what it is", () => {
    expect(named().filter(({ path, words }) => path !== "src" && words === undefined)).toEqual([]);
  });
});
