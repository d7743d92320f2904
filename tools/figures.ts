/**
 * Figures of the source: files of each folder, import circles, long functions, lines, and the length of the README.
 *
 * `node tools/figures.ts` prints them as a table; `--list` adds the folders, circles and functions themselves.
 */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { parseArgs } from "node:util";
import { parseAst } from "vite";

const root = join(import.meta.dirname, "..");

/** longFunction is the most lines of a function that does not count as long. */
const longFunction = 60;

export interface FoundFunction {
  /** at is `path:line name`. */
  readonly at: string;
  /** id is `path name`, which stays the same when lines move. */
  readonly id: string;
  readonly lines: number;
}

/** sourcesIn returns the TypeScript files below a folder of the project, as paths relative to the project. */
export function sourcesIn(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts"))
    .map((path) => join(folder, path))
    .sort();
}

/** filesAFolder counts the files of each folder, most first. */
export function filesAFolder(paths: readonly string[]): [folder: string, files: number][] {
  const counts = new Map<string, number>();
  for (const path of paths) counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1);
  return [...counts].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
}

/**
 * longFunctionsIn returns the functions, methods and arrow functions with more lines than `longFunction`, longest
 * first.
 */
export function longFunctionsIn(paths: readonly string[]): FoundFunction[] {
  return paths
    .flatMap(functionsIn)
    .filter(({ lines }) => lines > longFunction)
    .sort((a, b) => b.lines - a.lines);
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
}

function functionsIn(path: string): FoundFunction[] {
  const text = readFileSync(join(root, path), "utf8");
  const lineAt = (offset: number) => text.slice(0, offset).split("\n").length;
  const found: FoundFunction[] = [];
  const visit = (node: Node, name: string) => {
    if (/^(?:FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(node.type)) {
      const own = nameOf(node) ?? name;
      const line = lineAt(node.start);
      found.push({ at: `${path}:${line} ${own}`, id: `${path} ${own}`, lines: lineAt(node.end) - line + 1 });
    }
    const inner = nameOf(node) ?? name;
    for (const child of childrenOf(node)) visit(child, inner);
  };
  visit(parseAst(text, { lang: "ts" }) as unknown as Node, "(file)");
  return found;
}

/** nameOf returns the name that a declaration, a member or a variable gives to its function. */
function nameOf(node: Node): string | undefined {
  const { id, key } = node as { id?: { name?: string } | null; key?: { name?: string } };
  return id?.name ?? key?.name;
}

function childrenOf(node: Node): Node[] {
  return Object.values(node)
    .flat()
    .filter((value): value is Node => typeof value === "object" && value !== null && typeof value.type === "string");
}

/** importCircles returns the groups of files of src that import one another, types included. */
export function importCircles(paths: readonly string[]): string[][] {
  const imports = new Map(paths.map((path) => [path, importsOf(path)]));
  const order = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const circles: string[][] = [];
  // Tarjan's strongly connected components.
  const visit = (path: string) => {
    order.set(path, order.size);
    low.set(path, order.get(path) as number);
    stack.push(path);
    for (const next of imports.get(path) ?? []) {
      if (!imports.has(next)) continue;
      if (!order.has(next)) visit(next);
      if (stack.includes(next)) low.set(path, Math.min(low.get(path) as number, low.get(next) as number));
    }
    if (low.get(path) !== order.get(path)) return;
    const group = stack.splice(stack.indexOf(path));
    if (group.length > 1) circles.push(group.sort());
  };
  for (const path of paths) if (!order.has(path)) visit(path);
  return circles;
}

function importsOf(path: string): string[] {
  const text = readFileSync(join(root, path), "utf8");
  const specifiers = text.matchAll(
    /^(?:import|export)\s[^"';]*?\bfrom\s+"(\.[^"]+)"|^import\s+"(\.[^"]+)"|\bimport\("(\.[^"]+)"\)/gm,
  );
  return [...specifiers].map(([, from, bare, late]) =>
    relative(root, join(root, dirname(path), from ?? bare ?? late ?? "")),
  );
}

function linesOf(paths: readonly string[]): number {
  return paths.reduce((sum, path) => sum + readFileSync(join(root, path), "utf8").trimEnd().split("\n").length, 0);
}

function main(): void {
  const { values } = parseArgs({ options: { list: { type: "boolean", default: false } } });
  const src = sourcesIn("src");
  const embedded = src.filter((path) => /^src\/(?:providers\/)?embedded\//.test(path));
  const folders = filesAFolder(src);
  const long = longFunctionsIn(src);
  const circles = importCircles(src);
  const rows: [string, string | number][] = [
    ["files of src", src.length],
    ["folders of src", folders.length],
    ["most files in a folder", `${folders[0]?.[1]} (${folders[0]?.[0]})`],
    ["folders with more than 15 files", folders.filter(([, files]) => files > 15).length],
    ["import circles", circles.length],
    [`functions over ${longFunction} lines`, long.length],
    ["lines of src", linesOf(src)],
    ["lines of src without the embedded models", linesOf(src) - linesOf(embedded)],
    ["files of test", sourcesIn("test").length],
    ["lines of test", linesOf(sourcesIn("test"))],
    ["bytes of README.md", statSync(join(root, "README.md")).size],
  ];
  for (const [name, value] of rows) console.log(`${name.padEnd(42)} ${value}`);
  if (!values.list) return;
  console.log(`\n${folders.map(([folder, files]) => `${files}\t${folder}`).join("\n")}`);
  for (const circle of circles) console.log(`\ncircle: ${circle.join(", ")}`);
  console.log(`\n${long.map(({ at, lines }) => `${lines}\t${at}`).join("\n")}`);
}

if (process.argv[1] === import.meta.filename) main();
