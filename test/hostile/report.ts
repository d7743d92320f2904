/** Tells what was seen: a line a row while it runs, and a table at the end. */
import type { Latency, Played } from "./play.ts";

export function lineOf({ row, faults, told, seconds }: Played): string {
  const verdict = faults.length === 0 ? "holds" : "FAILS";
  const line = `${verdict}  ${row.name} (${seconds.toFixed(1)} s): ${told}`;
  return [line, ...faults.map((fault) => `         ${fault}`)].join("\n");
}

const head = [
  "attack",
  "what holds",
  "test",
  "held",
  "descriptors",
  "RSS, MB",
  "canary quiet p50 / p99 / max (own p99; direct p99), ms",
  "canary attacked p50 / p99 / max (own p99; direct p99), ms",
  "errors",
  "CPU, ms (waited for a core)",
  "seen",
];

/** Writes the table as Markdown; figures before → at the peak → after. */
export function figuresTable(played: readonly Played[]): string {
  const lines = played.map((one) => {
    const { row, before, peak, after, isCollected, quiet, attacked, cpuMs, waitedMs, told, faults } = one;
    const figures = (of: "descriptors" | "rss") => [before, peak, after].map((held) => held[of].toFixed(0)).join(" → ");
    return [
      `${row.item}. ${row.attack}`,
      row.holds,
      `\`${row.name}\``,
      faults.length === 0 ? "yes" : `**no**: ${faults.join("; ")}`,
      figures("descriptors"),
      figures("rss") + (isCollected ? " (collected)" : ""),
      latency(quiet),
      latency(attacked),
      `${attacked.errors.length} of ${attacked.calls}`,
      `${cpuMs.toFixed(0)} (${waitedMs.toFixed(0)})`,
      told,
    ];
  });
  return [head, head.map(() => "---"), ...lines].map(line).join("\n").concat("\n");
}

const latency = ({ p50, p99, max, own, direct }: Latency) =>
  `${[p50, p99, max].map((ms) => ms.toFixed(0)).join(" / ")} (${own.toFixed(0)}; ${direct.toFixed(0)})`;

const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll(/[|\n]/g, " ")).join(" | ")} |`;
