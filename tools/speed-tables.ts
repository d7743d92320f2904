/**
 * Writes the speed tables into README.md, docs/speed.md and docs/scaling.md from the saved results of the bench: bench/results.md and,
 * where they exist, bench/memory.md, bench/accelerators.md and bench/engines.md. Run it after each that was saved: `npm run bench -- --save`,
 * the same with `--memory` or `--engines`, and `npm run bench:accelerators -- --save`.
 *
 * Each table stands between two comments, `<!-- NAME: … -->` and `<!-- end of NAME -->`; everything else is left
 * unchanged. test/project/pages.test.ts fails if a table differs from what this writes.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");

type Table = readonly (readonly string[])[];

/** tablesIn returns the tables of a page, each with its head first. */
function tablesIn(markdown: string): Table[] {
  return [...markdown.matchAll(/(?:^\|.*\|\n?)+/gm)].map(([text]) =>
    text
      .trim()
      .split("\n")
      .filter((line) => !/^\|[-:|]+\|$/.test(line))
      .map((line) =>
        line
          .slice(1, -1)
          .split(" | ")
          .map((cell) => cell.trim()),
      ),
  );
}

function written([head = [], ...rows]: Table): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(head), `|${"---|".repeat(head.length)}`, ...rows.map(line)].join("\n");
}

/** saidIn returns the first paragraph of the results: when, where and by which command the bench was run. */
function saidIn(markdown: string): string {
  return markdown.split("\n").find((line) => line.startsWith("Measured on")) ?? "";
}

/** speedTable is the cost of each row and its bounds. Of rows that were measured again since, by `later`, the later figures stand. */
function speedTable(results: string, later = ""): string {
  const isLater = later !== "" && dateOf(later) >= dateOf(results);
  const again = new Map((isLater ? rowsOfWork(later) : []).map((row) => [keyOf(row), row]));
  const rows = rowsOfWork(results).map((row, i) => (i === 0 ? row : (again.get(keyOf(row)) ?? row)));
  const [whenAndWhere = ""] = saidIn(later).replace("Measured", "measured").split(":");
  const said = [saidIn(results), ...(isLater ? [`Memory was ${whenAndWhere}.`] : [])];
  return [written(rows), ...said].join("\n\n");
}

const keyOf = ([work, against]: readonly string[]) => `${work} | ${against}`;

/** dateOf returns the day on which results were measured; empty where there are none. */
function dateOf(markdown: string): string {
  return /^Measured on (\d{4}-\d\d-\d\d)/.exec(saidIn(markdown))?.[1] ?? "";
}

/** rowsOfWork returns the table of work, its head first, without the columns that say how its rounds differ. */
function rowsOfWork(results: string): Table {
  const [table] = tablesIn(results).filter(([head]) => head?.[0] === "work");
  if (!table) throw new Error("the results have no table of work");
  const columns = ["work", "against", "measured", "must", "aim"].map((name) => table[0]?.indexOf(name) ?? -1);
  return table.map((row) => columns.map((at) => row[at] ?? ""));
}

/**
 * acceleratorsTable is the gain of each accelerator: how many times as much CPU a call takes without it, on the load where it brings
 * most, with all others on. The sentence that introduces it is part of it, so that no page has that alone before there are results.
 */
function acceleratorsTable(accelerators: string): string {
  const [table] = tablesIn(accelerators).filter(([head]) => head?.[0] === "taken away");
  if (!table) throw new Error("bench/accelerators.md has no table of what is taken away");
  const [[, ...loads] = [], ...rows] = table;
  const gains = rows.flatMap(([name = "", ...cells]) => {
    const [, accelerator] = /^(?:\*\*)?([\w-]+)(?:\*\*|, first)$/.exec(name) ?? [];
    const best = cells
      .map(Number)
      .reduce((a, value, i) => (value > (a.value ?? 0) ? { value, i } : a), { value: 0, i: 0 });
    return accelerator ? [[`\`${accelerator}\``, `${best.value.toFixed(2)} ×`, loads[best.i] ?? ""]] : [];
  });
  return [whatAcceleratorsBring, written([["without", "CPU a call", "on"], ...gains]), saidIn(accelerators)].join(
    "\n\n",
  );
}

const whatAcceleratorsBring =
  "What each accelerator brings: without it, and with all others, a call takes so many times as much CPU on the load where that shows most. `all` is without any.";

/** withPart returns the page with this text between the comments of that name; unchanged if it has no such comments. */
function withPart(page: string, name: string, part: string): string {
  const comments = new RegExp(`(<!-- ${name}:[^\n]*-->\n)[\\s\\S]*?(<!-- end of ${name} -->)`);
  return page.replace(comments, (_, from: string, to: string) => `${from}\n${part}\n\n${to}`);
}

/** withTables returns the page with all tables up to date. */
export function withTables(page: string): string {
  const read = (file: string) => readFileSync(join(root, file), "utf8");
  const memory = existsSync(join(root, "bench/memory.md")) ? read("bench/memory.md") : "";
  const speed = withPart(page, "speed", speedTable(read("bench/results.md"), memory));
  const others = [
    ["accelerators", acceleratorsTable],
    ["engines", (results: string) => speedTable(results)],
  ] as const;
  return others.reduce((done, [name, tableOf]) => {
    const file = `bench/${name}.md`;
    return existsSync(join(root, file)) ? withPart(done, name, tableOf(read(file))) : done;
  }, speed);
}

if (import.meta.main) {
  for (const name of ["README.md", "docs/speed.md", "docs/scaling.md"]) {
    const path = join(root, name);
    writeFileSync(path, withTables(readFileSync(path, "utf8")));
  }
}
