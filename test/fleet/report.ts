/** The table that a run ends with: a line for each thing that must hold, with its figure. */

export interface Line {
  readonly what: string;
  readonly figure: string;
  /** What is wrong; empty where nothing is. */
  readonly faults: readonly string[];
}

const mostShown = 12;

export function tableOf(lines: readonly Line[]): string {
  const wide = Math.max(...lines.map(({ what }) => what.length));
  return lines
    .map(({ what, figure, faults }) => `${faults.length === 0 ? "PASS" : "FAIL"}  ${what.padEnd(wide)}  ${figure}`)
    .join("\n");
}

export function faultsOf(lines: readonly Line[]): string {
  return lines
    .filter(({ faults }) => faults.length > 0)
    .map(({ what, faults }) => {
      const more = faults.length > mostShown ? [`… and ${faults.length - mostShown} more`] : [];
      return [`${what}:`, ...faults.slice(0, mostShown), ...more].join("\n  ");
    })
    .join("\n");
}
