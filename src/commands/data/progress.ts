/** Shows on a terminal what a move does at this moment, on one line that is written over. Nothing is shown anywhere else. */
import type { MoveStep } from "../../storage/moving/move.ts";

export interface Progress {
  show(step: MoveStep): void;
  /** Removes the line. */
  clear(): void;
}

/** everyMs is how often the line changes at most, in milliseconds. */
const everyMs = 100;

export function createProgress(to: NodeJS.WriteStream = process.stderr): Progress {
  let shownAt = Number.NEGATIVE_INFINITY;
  let before = "";
  const write = (line: string) => {
    const width = Math.max(20, to.columns ?? 80) - 1;
    to.write(`\r\x1b[K${line.slice(0, width)}`);
  };
  return {
    show(step) {
      const now = performance.now();
      const what = step.kind === "copying" ? step.table : `${step.kind} ${step.name}`;
      if (!to.isTTY || (what === before && now - shownAt < everyMs)) return;
      [shownAt, before] = [now, what];
      write(lineOf(step));
    },
    clear() {
      if (to.isTTY) write("");
    },
  };
}

function lineOf(step: MoveStep): string {
  if (step.kind !== "copying") return `${step.kind} ${step.name} …`;
  const { table, rows, of } = step;
  const percent = of === 0 ? 100 : Math.min(100, Math.floor((100 * rows) / of));
  return `copying ${table}: ${rows} of ${of} rows, ${percent} %`;
}
