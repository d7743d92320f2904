/** Writes the results as Markdown: by which factor the CPU of a call, and the memory, grow without an accelerator. */
import { cpus } from "node:os";
import { acceleratorNames } from "../../src/config/shape.ts";
import { median } from "../statistics.ts";
import { baseOf, columns, off, on, only, type Variant, without } from "./variants.ts";

/** Measured is the result of one process on one load. */
export interface Measured {
  readonly variant: string;
  readonly load: string;
  readonly process: number;
  /** cpu is in microseconds for each call or chunk. */
  readonly cpu: number;
  /** memory is the process's memory at the end of the load, in megabytes; undefined if the load does not measure it. */
  readonly memory: number | undefined;
}

export interface TableInit {
  readonly measured: readonly Measured[];
  readonly command: string;
  readonly processes: number;
  readonly notes: readonly string[];
  readonly date: Date;
}

export function table({ measured, command, processes, notes, date }: TableInit): string {
  const machine = `${cpus().length} × ${cpus()[0]?.model ?? "an unknown processor"}`;
  const said = [
    `Measured on ${date.toISOString().slice(0, 10)}, ${machine}, Node ${process.versions.node}, by \`${command}\`:`,
    `CPU a call (of streams: a chunk), off ÷ on, medians of ${processes} ${processes === 1 ? "process" : "processes"} each.`,
    "*first*: this one is taken away from all. *last*: this one is taken away where it is the only one.",
    "Two equal processes differ by up to 1.05.",
  ];
  return [
    "# What each accelerator brings",
    said.join(" "),
    ...(notes.length === 0 ? [] : [notes.map((note) => `- ${note}`).join("\n")]),
    ratios(measured, "cpu"),
    "The same of the memory of the process at the end of the load:",
    ratios(measured, "memory"),
    "Microseconds of CPU a call, or a chunk:",
    microseconds(measured),
  ].join("\n\n");
}

type Kind = "cpu" | "memory";

function ratios(measured: readonly Measured[], kind: Kind): string {
  const names = Object.keys(columns).filter((load) =>
    measured.some((one) => one.load === load && one[kind] !== undefined),
  );
  const cells = (less: Variant, more: Variant) =>
    names.map((load) => (less.loads.includes(load) ? ratio(measured, kind, load, less, more) : "–"));
  const lines = acceleratorNames.flatMap((name) => [
    [`${name}, first`, ...cells(without(name), on)],
    [`${name}, last`, ...cells({ ...baseOf(name), loads: only(name).loads }, only(name))],
  ]);
  const all = ["**all**", ...names.map((load) => ratio(measured, kind, load, off, on))];
  return lined(["taken away", ...names.map((load) => columns[load] as string)], [...lines, all]);
}

function ratio(measured: readonly Measured[], kind: Kind, load: string, less: Variant, more: Variant): string {
  const value = of(measured, kind, load, less) / of(measured, kind, load, more);
  return Number.isNaN(value) ? "–" : value.toFixed(2);
}

function of(measured: readonly Measured[], kind: Kind, load: string, { name }: Variant): number {
  const own = measured.filter((one) => one.load === load && one.variant === name);
  return median(own.flatMap((one) => one[kind] ?? []));
}

function microseconds(measured: readonly Measured[]): string {
  const names = Object.keys(columns).filter((load) => measured.some((one) => one.load === load));
  const lines = [on, off].map((variant) => [
    variant.name,
    ...names.map((load) => {
      const value = of(measured, "cpu", load, variant);
      return Number.isNaN(value) ? "–" : value.toFixed(value < 20 ? 1 : 0);
    }),
  ]);
  return lined(["", ...names.map((load) => columns[load] as string)], lines);
}

function lined(head: readonly string[], lines: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(head), `|---|${"--:|".repeat(head.length - 1)}`, ...lines.map(line)].join("\n");
}
