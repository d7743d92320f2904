/** The measurements and what is derived from them: medians over rounds, and ratios within each round. */
import type { Figures } from "./figures.ts";
import { median } from "./statistics.ts";

/** Piece is one measurement: a load on a target in a round. */
export interface Piece {
  readonly load: string;
  readonly target: string;
  readonly round: number;
  readonly figures: Figures;
}

/** Name identifies a figure by load, target and name. */
export type Name = readonly [load: string, target: string, figure: string];

export interface Results {
  /** of returns the median over rounds; NaN if it was not measured. */
  of(name: Name): number;
  /**
   * together computes a value for each round from figures that were measured side by side: the machine's speed, which
   * changes between rounds, is the same for all of them. Rounds in which one is missing are left out.
   */
  together(names: readonly Name[], make: (...values: number[]) => number): readonly number[];
}

export function resultsOf(pieces: readonly Piece[]): Results {
  const rounds = [...new Set(pieces.map(({ round }) => round))];
  const at = (round: number, [load, target, figure]: Name) =>
    pieces.find((piece) => piece.round === round && piece.load === load && piece.target === target)?.figures[figure];
  const together: Results["together"] = (names, make) =>
    rounds.flatMap((round) => {
      const values = names.map((name) => at(round, name));
      return values.every((value) => value !== undefined) ? [make(...values)] : [];
    });
  return { together, of: (name) => median(together([name], (value) => value)) };
}
