/**
 * The shape of the source stays what docs/architecture.md and the README say: who may import whom, where each file
 * is, how long files are, and that each opens with its promise.
 */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { describe, expect, test } from "vitest";

const root = join(import.meta.dirname, "..");
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
 * What each part of src may import of the others: a folder stands for its files, "(types)" for `import type` only.
 * Its own files, `gen` and packages are open to all.
 */
const arrows: Readonly<Record<string, readonly string[]>> = {
  "main.ts": ["commands", "config", "storage/database.ts"],
  commands: [
    ...[
      "gateway.ts",
      "background.ts",
      "config",
      "services",
      "storage",
      "pipeline/audit.ts",
      "pipeline/serve.ts",
      "providers/index.ts",
    ],
    ...["call.ts", "catalog.ts", "decimal.ts", "errors.ts", "facts.ts", "ids.ts", "secrets.ts", "wire"],
  ],
  "gateway.ts": ["composition", "transport", "retention.ts", "clock.ts", "catalog.ts (types)", "errors.ts"],
  composition: [
    ...["transport", "pipeline", "services", "providers", "targets", "telemetry", "ledger", "limits", "config"],
    ...["tokens", "storage (types)", "call.ts (types)", "catalog.ts", "ids.ts", "signal.ts"],
  ],
  transport: ["http1", "call.ts", "errors.ts", "flow.ts", "ids.ts", "signal.ts", "soon.ts", "wire", "work.ts"],
  services: [
    ...["pipeline", "families", "limits", "storage", "ledger/price.ts"],
    ...["call.ts", "catalog.ts", "decimal.ts", "errors.ts", "ids.ts", "secrets.ts", "signal.ts", "soon.ts (types)"],
    ...["wire", "work.ts"],
  ],
  pipeline: [
    ...["families", "providers/provider.ts", "providers/operations.ts", "providers/fault.ts", "providers/count.ts"],
    ...["providers/manner.ts", "providers/timeouts.ts (types)", "storage (types)"],
    ...[
      "tokens",
      "targets",
      "ledger",
      "limits",
      "call.ts",
      "catalog.ts",
      "decimal.ts",
      "errors.ts",
      "facts.ts",
      "flow.ts",
      "signal.ts",
      "soon.ts",
      "secrets.ts",
      "wire",
      "work.ts",
    ],
  ],
  families: [
    ...["providers/operations.ts", "providers/count.ts", "providers/chat-counts.ts", "providers/message-counts.ts"],
    ...[
      "providers/profile/instructions.ts",
      "providers/reasoning-seal.ts",
      "providers/sealed-signature.ts",
      "call.ts",
      "errors.ts",
      "flow.ts",
      "wire",
      "work.ts",
    ],
  ],
  providers: [
    ...["http1", "config", "tokens"],
    ...["call.ts", "errors.ts", "facts.ts (types)", "flow.ts", "signal.ts", "soon.ts", "wire"],
    ...["work.ts"],
  ],
  http1: ["clock.ts"],
  tokens: ["background.ts", "errors.ts", "signal.ts (types)", "wire"],
  ledger: [
    ...["storage/ledger.ts (types)", "storage/trouble.ts", "storage/when-free.ts"],
    ...["providers/provider.ts (types)", "providers/operations.ts (types)", "config (types)"],
    ...["ids.ts", "present.ts", "soon.ts", "wire (types)"],
  ],
  targets: ["catalog.ts (types)"],
  limits: ["soon.ts (types)", "signal.ts (types)"],
  "catalog.ts": ["config (types)", "ledger/price.ts (types)", "ledger/price-of.ts", "errors.ts"],
  storage: ["ids.ts"],
  config: ["limits/tiers.ts", "decimal.ts"],
  "call.ts": ["facts.ts (types)", "limits/tiers.ts (types)", "signal.ts (types)", "soon.ts (types)", "wire"],
  "signal.ts": [],
  "background.ts": [],
  "soon.ts": [],
  "present.ts": [],
  "clock.ts": [],
  "facts.ts": ["ledger/price.ts (types)", "present.ts (types)"],
  telemetry: ["pipeline/observe.ts (types)", "call.ts (types)", "errors.ts", "facts.ts (types)", "present.ts"],
  "errors.ts": ["refusal.ts", "wire/fault.ts", "storage/trouble.ts"],
  "refusal.ts": [],
  "retention.ts": ["storage (types)", "ids.ts"],
  wire: ["decimal.ts", "soon.ts (types)", "work.ts"],
  "work.ts": ["soon.ts"],
  "decimal.ts": [],
  "flow.ts": [],
  "ids.ts": [],
  "secrets.ts": [],
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
    const concrete = (path: string) => /^providers\/(?:embedded\/|openai\.ts$)/.exec(path)?.[0];
    const overHttp = /^providers\/upstream/;
    expect(
      faults(({ path }, { target }) => {
        const from = concrete(path);
        const to = concrete(target);
        if (from === undefined) return to !== undefined && path !== "providers/index.ts";
        return (to !== undefined && to !== from) || (from === "providers/embedded/" && overHttp.test(target));
      }),
    ).toEqual([]);
  });

  test("reach the composition of the gateway from the command line alone", () => {
    expect(faults(({ path }, { target }) => target === "gateway.ts" && partOf(path) !== "commands")).toEqual([]);
    const root = ["gateway.ts", "composition"];
    expect(faults(({ path }, { target }) => partOf(target) === "composition" && !root.includes(partOf(path)))).toEqual(
      [],
    );
    expect(faults((_, { target }) => target === "main.ts")).toEqual([]);
  });

  test("name the database's driver in one file", () => {
    expect(faults((_, { target }) => target === "better-sqlite3")).toEqual(["storage/database.ts → better-sqlite3"]);
  });
});

test("the environment is read in one file", () => {
  const readers = sources.filter(({ text }) =>
    /\bprocess\s*(?:\.\s*env\b|\[)|\benv\b[^;]*from\s+"node:process"/.test(text),
  );
  expect(readers.map(({ path }) => path)).toEqual(["config/config.ts"]);
});

test("no file or folder is named for what nobody could say", () => {
  const vague = /(?:^|\/|-)(?:utils?|common|shared|core|helpers?|misc)(?:-|\.ts$|\/)/;
  expect(sources.map(({ path }) => path).filter((path) => vague.test(path))).toEqual([]);
});

describe("files", () => {
  const lines = ({ text }: Source) => text.trimEnd().split("\n").length;

  test("hold at most 250 lines, half of them at most 150, but for the catalogue of refusals", () => {
    const long = sources.filter((source) => lines(source) > 250).map(({ path }) => path);
    expect(long).toEqual(["errors.ts"]);
    const lengths = sources.map(lines).sort((a, b) => a - b);
    expect(lengths[Math.floor(lengths.length / 2)]).toBeLessThanOrEqual(150);
  });

  test("open with what they promise", () => {
    expect(sources.filter(({ text }) => !/^\/\*\*\s/.test(text)).map(({ path }) => path)).toEqual([]);
  });
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

describe("the tree in the README", () => {
  const tree = () => readTree(readFileSync(join(root, "README.md"), "utf8"));

  test("names every file of src, once, and none that is not there", () => {
    const { files, folders } = tree();
    expect(new Set(files).size, "a file is named twice").toBe(files.length);
    const stoodFor = sources.filter(({ path }) => folders.some((folder) => path.startsWith(folder)));
    expect([...files, ...stoodFor.map(({ path }) => path)].sort()).toEqual(sources.map(({ path }) => path));
    for (const folder of folders)
      expect(
        stoodFor.some(({ path }) => path.startsWith(folder)),
        folder,
      ).toBe(true);
  });

  test("says of every file and closed folder what it does", () => {
    expect(tree().bare).toEqual([]);
  });
});

interface Tree {
  readonly files: readonly string[];
  /** Folders whose content is not listed: they stand for all that is in them. With `/` at the end. */
  readonly folders: readonly string[];
  /** What has no description and needs one. */
  readonly bare: readonly string[];
}

/** Reads the part below the line `src/` of the first ```text block that has one. */
function readTree(markdown: string): Tree {
  const blocks = [...markdown.matchAll(/^```text\n(.*?)^```$/gms)].map(([, body]) => (body as string).split("\n"));
  const block = blocks.find((lines) => lines.some((line) => /^src\/(?:\s|$)/.test(line)));
  if (!block) throw new Error("README.md has no ```text block with a line `src/`");
  const below = block.slice(block.findIndex((line) => line.startsWith("src/")) + 1);
  const end = below.findIndex((line) => /^\S/.test(line));
  const entries = (end === -1 ? below : below.slice(0, end))
    .filter((line) => line.trim() !== "")
    .map((line) => {
      const parts = /^(?<indent> +)(?<name>\S+)(?: +(?<words>\S.*))?$/.exec(line)?.groups;
      if (!parts) throw new Error(`README.md: not a line of the tree: ${line}`);
      return { depth: parts.indent?.length ?? 0, name: parts.name as string, words: parts.words };
    });
  const open: { readonly depth: number; readonly path: string }[] = [];
  const tree = { files: [] as string[], folders: [] as string[], bare: [] as string[] };
  for (const [i, { depth, name, words }] of entries.entries()) {
    while ((open.at(-1)?.depth ?? -1) >= depth) open.pop();
    const path = (open.at(-1)?.path ?? "") + name;
    const hasContent = (entries[i + 1]?.depth ?? 0) > depth;
    if (name.endsWith("/") && hasContent) open.push({ depth, path });
    else {
      (name.endsWith("/") ? tree.folders : tree.files).push(path);
      if (words === undefined) tree.bare.push(path);
    }
  }
  return tree;
}
