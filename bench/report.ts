/** Writes the results as Markdown: the rows with their verdicts, and all figures. */
import { cpus } from "node:os";
import type { Results } from "./results.ts";
import { type Row, verdictOf } from "./rows.ts";
import { median, percentile } from "./statistics.ts";

export interface ReportInit {
  readonly results: Results;
  readonly rows: readonly Row[];
  readonly loads: readonly { readonly name: string; readonly about: string; readonly targets: readonly string[] }[];
  /** notes are what a reader must know about this run. */
  readonly notes: readonly string[];
  readonly command: string;
  readonly rounds: number;
  /** method is what counts as a round, and how rounds are compared. */
  readonly method: string;
  readonly date: Date;
}

export function report(init: ReportInit): string {
  const { results, rows, loads, notes, command, rounds, method, date } = init;
  const machine = `${cpus().length} × ${cpus()[0]?.model ?? "an unknown processor"}`;
  const parts = [
    `Measured on ${date.toISOString().slice(0, 10)}, ${machine}, Node ${process.versions.node}, by \`${command}\`:`,
    `medians of ${rounds} ${rounds === 1 ? "round" : "rounds"}. ${method}`,
  ];
  return [
    parts.join(" "),
    ...(notes.length === 0 ? [] : [notes.map((note) => `- ${note}`).join("\n")]),
    verdicts(results, rows),
    figuresTable(results, loads),
  ].join("\n\n");
}

/** valuesOf returns the value of each row, for the JSON. */
export function valuesOf(results: Results, rows: readonly Row[]) {
  return rows.map((row) => {
    const values = row.values(results);
    const value = median(values);
    const { work, against, must, aim, unit } = row;
    return { work, against, value, values, unit, must, aim, verdict: verdictOf(row, value) };
  });
}

function verdicts(results: Results, rows: readonly Row[]): string {
  const lines = rows.map((row) => {
    const values = row.values(results);
    const value = median(values);
    const told = values.length === 0 ? "–" : `${written(row, value)} ${row.unit}`.trimEnd();
    const half = [0.25, 0.75].map((part) => written(row, percentile(values, part)));
    const spread = values.length < 2 ? "–" : `${half.join(" … ")} of ${values.length}`;
    const bounds = [bound(row, row.must), bound(row, row.aim)];
    return `| ${[row.work, row.against, told, spread, ...bounds, verdictOf(row, value)].join(" | ")} |`;
  });
  const head = "| work | against | measured | half of its rounds | must | aim | verdict |";
  return [head, "|---|---|---|---|---|---|---|", ...lines].join("\n");
}

function bound(row: Row, value: number | undefined): string {
  if (value === undefined) return "–";
  return `${row.better === "more" ? "≥" : "≤"} ${row.unit === "ms" ? "+ " : ""}${value} ${row.unit}`.trimEnd();
}

function written({ unit }: Row, value: number): string {
  return value.toFixed(unit === "MB" ? 0 : unit === "%" || unit === "kB" || unit === "" ? 1 : 2);
}

function figuresTable(results: Results, loads: ReportInit["loads"]): string {
  const names = [
    "requests/s",
    "chunks/s",
    "CPU µs/request",
    "CPU µs/chunk",
    "p50 ms",
    "p99 ms",
    "p99.9 ms",
    "memory MB",
  ];
  const own = [
    ...["kB/stream", "streams", "calls a statement", "ms a statement"],
    ...["busiest process µs/request", "decisions a round trip"],
  ];
  const lines = loads.flatMap(({ name, about, targets }) =>
    targets.flatMap((target) => {
      const values = [...names, ...own].map((figure) => results.of([name, target, figure]));
      if (values.every(Number.isNaN)) return [];
      const cells = values.slice(0, names.length).map(number);
      const extra = own.flatMap((figure, i) => {
        const value = values[names.length + i] as number;
        return Number.isNaN(value) ? [] : [`${number(value)} ${figure}`];
      });
      return [
        `| ${name}: ${about} | ${target}${extra.length > 0 ? ` (${extra.join(", ")})` : ""} | ${cells.join(" | ")} |`,
      ];
    }),
  );
  const head = `| load | target | ${names.join(" | ")} |`;
  return [head, `|---|---|${names.map(() => "--:|").join("")}`, ...lines].join("\n");
}

function number(value: number): string {
  if (Number.isNaN(value)) return "";
  if (value >= 1000) return Math.round(value).toLocaleString("en");
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}
