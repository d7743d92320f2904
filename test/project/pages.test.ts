/**
 * The pages stay true to the project: their links lead somewhere, none is an orphan, and the files, functions, commands and
 * variables that they name exist.
 */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { UsageSchema } from "../../gen/modelgateway/v1/usage_pb.ts";
import packageJson from "../../package.json" with { type: "json" };
import { acceleratorNames } from "../../src/config/shape.ts";
import { ownColumns } from "../../src/storage/columns.ts";
import { sharedMigrations } from "../../src/storage/engines/migrations/all.ts";
import { withTables } from "../../tools/speed-tables.ts";
import { blocks, codesIn, pages, root, tablesWith, tableWith, textOf } from "../support/pages.ts";

/** The page without its code blocks. */
const prose = (page: string) => textOf(page).replace(/^```\S*\n[\s\S]*?^```$/gm, "");

/** The anchors of a page's headings, as GitHub makes them. */
function anchorsOf(page: string): ReadonlySet<string> {
  const headings = [...prose(page).matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) => heading);
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\s_-]/gu, "")
        .trim()
        .replace(/\s/g, "-"),
    ),
  );
}

/** The relative links of a page: the path below the project, and the anchor. */
function linksOf(page: string): { readonly path: string; readonly anchor: string }[] {
  return [...prose(page).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)/g)].map(([, path = "", anchor = ""]) => ({
    path: path === "" ? page : join(dirname(page), path),
    anchor,
  }));
}

test("the README has at most 15,000 bytes", () => {
  expect(statSync(join(root, "README.md")).size).toBeLessThanOrEqual(15_000);
});

describe("links", () => {
  const others = ["clients/typescript", "clients/python", "examples", "examples/python", "examples/go"];

  test.each([...pages, "deploy/README.md", ...others.map((folder) => `${folder}/README.md`)])(
    "of %s lead to files and headings that exist",
    (page) => {
      const broken = linksOf(page).filter(
        ({ path, anchor }) =>
          !existsSync(join(root, path)) || (anchor !== "" && path.endsWith(".md") && !anchorsOf(path).has(anchor)),
      );
      expect(broken).toEqual([]);
    },
  );

  test("lead from the README to every page, and back", () => {
    const others = [...pages.filter((page) => page !== "README.md"), "deploy/README.md"];
    const linked = new Set(linksOf("README.md").map(({ path }) => path));
    expect(others.filter((page) => !linked.has(page))).toEqual([]);
    const back = (page: string) => linksOf(page).some(({ path }) => path === "README.md");
    expect(others.filter((page) => page !== "CHANGELOG.md" && !back(page))).toEqual([]);
  });
});

test("code blocks say in which language they are", () => {
  expect(blocks.filter(({ language }) => language === "").map(({ page, line }) => `${page}:${line}`)).toEqual([]);
});

test("files of source that are named exist", () => {
  const names = ["src", "test", "bench", "tools", "site"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((path) => basename(path)),
  );
  const known = new Set(names);
  const isThere = (path: string) =>
    path.includes("/") ? ["", "src"].some((at) => existsSync(join(root, at, path))) : known.has(path);
  const missing = pages.flatMap((page) =>
    codesIn(prose(page))
      .filter((code) => /^[\w./-]+\.ts$/.test(code) && !isThere(code))
      .map((code) => `${page}: ${code}`),
  );
  expect(missing).toEqual([]);
});

/** toBeMade are paths that a page has its reader make. */
const toBeMade: ReadonlySet<string> = new Set([
  "proto/modelgateway/v1/moderations.proto",
  "src/providers/gemini/",
  "deploy/compose/gateway.env",
]);

test("files and folders that are named by their path exist", () => {
  const ignored = new Set(textOf(".gitignore").split(/\/?\n\/?/));
  const folders = readdirSync(root, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const known = new Set(folders.map(({ name }) => name)).difference(ignored);
  const isOurs = (code: string) => /^[\w.-]+\/[\w./-]*$/.test(code) && known.has(code.split("/")[0] as string);
  const missing = pages
    .filter((page) => page !== "CHANGELOG.md")
    .flatMap((page) => codesIn(prose(page)).map((code) => ({ page, code })))
    .filter(({ code }) => isOurs(code) && !existsSync(join(root, code)) && !toBeMade.has(code));
  expect(missing).toEqual([]);
});

test("functions are where the pages say that they are", () => {
  const decided = tableWith("docs/architecture.md", "question", "function", "file").map(
    ([, functions = "", file = ""]) => [codesIn(functions), codesIn(file)[0]] as const,
  );
  const named = pages.flatMap((page) =>
    [
      ...prose(page)
        .replace(/\s+/g, " ")
        .matchAll(/`(\w+)` (?:in |of |\()`([\w./-]+\.ts)`/g),
    ].map(([, name = "", file]) => [[name], file] as const),
  );
  expect(named.length).toBeGreaterThanOrEqual(20);
  const isIn = (name: string, file: string) =>
    new RegExp(`(?:function\\*?|const|class|\\bexport .*) ${name}\\b|^\\s+(?:async )?\\*?${name}\\(`, "m").test(
      readFileSync(join(root, /^(?:src|test)\//.test(file) ? "" : "src", file), "utf8"),
    );
  const missing = [...decided, ...named].flatMap(([names, file = ""]) =>
    names.filter((name) => !isIn(name, file)).map((name) => `${name} in ${file}`),
  );
  expect(missing).toEqual([]);
});

test("what CONTRIBUTING.md has people add to is in the files that it names", () => {
  const missing = tablesWith("CONTRIBUTING.md", "file", "what to add")
    .flat()
    .flatMap(([where = "", what = ""]) => {
      const files = codesIn(where).filter((path) => path.includes(".") && existsSync(join(root, path)));
      const text = files.map((path) => readFileSync(join(root, path), "utf8")).join("\n");
      const names = [...what.matchAll(/\b(?:in|of) `(\w+)`/g)].map(([, name = ""]) => name);
      return names
        .filter((name) => text !== "" && !new RegExp(`\\b${name}\\b`).test(text))
        .map((name) => `${name}: ${where}`);
    });
  expect(missing).toEqual([]);
});

test("the places that CONTRIBUTING.md has people take for a column are the next ones", () => {
  const text = textOf("CONTRIBUTING.md");
  const fields = UsageSchema.fields.map(({ number }) => number);
  expect(/journal: own\((\d+)\)/.exec(text)?.[1]).toBe(`${ownColumns.length}`);
  expect(/`int64 searches = (\d+)`/.exec(text)?.[1]).toBe(`${Math.max(...fields) + 1}`);
});

test("the migration that CONTRIBUTING.md has people add is the next one", () => {
  const [, named] = /a file of the next number, `(\d+)-/.exec(textOf("CONTRIBUTING.md")) ?? [];
  expect(Number(named)).toBe(Number.parseInt(sharedMigrations.at(-1)?.name ?? "", 10) + 1);
});

test("the walk through a call has at most fifteen steps", () => {
  const [, walk = ""] = /<!-- walk[^\n]*-->\n([\s\S]*?)<!-- end of walk -->/.exec(textOf("docs/architecture.md")) ?? [];
  const steps = [...walk.matchAll(/^(\d+)\. /gm)].map(([, number]) => Number(number));
  expect(steps).toEqual(steps.map((_, i) => i + 1));
  expect(steps.length).toBeLessThanOrEqual(15);
});

test("npm scripts that are named exist", () => {
  const named = [...pages, "deploy/README.md"].flatMap((page) =>
    [...textOf(page).matchAll(/npm run\s+([\w:-]+)/g)].map(([, script = ""]) => script),
  );
  expect(named.filter((script) => !(script in packageJson.scripts))).toEqual([]);
});

describe("docs/operating.md", () => {
  const rows = tableWith("docs/operating.md", "variable", "meaning");

  test("lists the variables of the environment that the gateway reads, and no others", () => {
    const source = ["environment.ts", "config.ts"]
      .map((file) => readFileSync(join(root, "src/config", file), "utf8"))
      .join("\n")
      .replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, "");
    const read = [
      ...[...source.matchAll(/\benvironment\.([A-Z][A-Z_]+)\b/g)].map(([, name]) => name),
      ...[...source.matchAll(/\{([^{}]*)\} = environment;/g)].flatMap(([, names = ""]) => names.split(",")),
      ...[...source.matchAll(/checked\(environment, "([A-Z_]+)"/g)].map(([, name]) => name),
    ].map((name = "") => name.trim());
    expect(rows.flatMap(([names = ""]) => codesIn(names)).sort()).toEqual([...new Set(read)].sort());
  });

  test("lists the variables of every vendor", () => {
    interface Vendor {
      readonly name: string;
      readonly key_variable: string;
      readonly other_key_variables?: readonly string[];
      readonly token_variable?: string;
      readonly url_variable?: string;
      readonly other_url_variables?: readonly string[];
    }
    const { vendors } = parse(readFileSync(join(root, "catalog/vendors.yaml"), "utf8")) as {
      readonly vendors: readonly Vendor[];
    };
    const listed = tableWith("docs/operating.md", "vendor", "key", "address").map(([name = "", key = "", url = ""]) => [
      name.split(",", 1)[0],
      ...[codesIn(key), codesIn(url)],
    ]);
    const known = vendors.map(({ name, key_variable, url_variable = [], ...vendor }) => {
      const { other_key_variables = [], token_variable = [], other_url_variables = [] } = vendor;
      const keys = [key_variable, ...other_key_variables].concat(token_variable);
      return [name, keys, [url_variable, other_url_variables].flat()];
    });
    expect(listed).toEqual(known);
  });
});

test.each(["README.md", "docs/speed.md", "docs/scaling.md"])(
  "the tables of speed in %s are what the bench has saved",
  (page) => {
    // `node tools/speed-tables.ts` renews them.
    expect(textOf(page)).toBe(withTables(textOf(page)));
    expect(tableWith("README.md", "work", "against", "measured").length).toBeGreaterThan(10);
  },
);

test("docs/architecture.md has every accelerator", () => {
  const rows = tableWith("docs/architecture.md", "name", "contract", "plain", "accelerator");
  expect(rows.map(([name = ""]) => codesIn(name)[0])).toEqual([...acceleratorNames]);
});
