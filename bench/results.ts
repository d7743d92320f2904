/** What was measured, and what is read from it: medians over rounds, and of the ratios within each round. */
import type { Figures } from "./loads.ts";
import { median } from "./statistics.ts";

/** One piece: a load on a target in a round. */
export interface Piece {
  readonly load: string;
  readonly target: string;
  readonly round: number;
  readonly figures: Figures;
}

/** Names a figure: of which load, on which target, and which. */
export type Name = readonly [load: string, target: string, figure: string];

export interface Results {
  /** The median over rounds; NaN where it was not measured. */
  of(name: Name): number;
  /**
   * The median over rounds of what is made of figures that were measured side by side: the machine, which is never as fast
   * in the next round, is the same for all of them. NaN where any of them is missing.
   */
  together(names: readonly Name[], make: (...values: number[]) => number): number;
}

export function resultsOf(pieces: readonly Piece[]): Results {
  const rounds = [...new Set(pieces.map(({ round }) => round))];
  const at = (round: number, [load, target, figure]: Name) =>
    pieces.find((piece) => piece.round === round && piece.load === load && piece.target === target)?.figures[figure];
  const together: Results["together"] = (names, make) => {
    const made = rounds.flatMap((round) => {
      const values = names.map((name) => at(round, name));
      return values.every((value) => value !== undefined) ? [make(...values)] : [];
    });
    return median(made);
  };
  return { together, of: (name) => together([name], (value) => value) };
}
