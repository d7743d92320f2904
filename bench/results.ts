/** What was measured, and what is read from it: medians over rounds, and the ratios within each. */
import type { Figures } from "./figures.ts";
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
   * Of each round what is made of figures that were measured side by side: the machine, which is never as fast in the next
   * round, is the same for all of them. Rounds in which any of them is missing are left out.
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
