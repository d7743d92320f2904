/** What a fuzzer is: it makes cases of a seed, and throws at the first one in which there is a difference. */

export interface FuzzOptions {
  readonly seconds: number;
  /** Of the first case; each next one has the next seed. */
  readonly seed: number;
  /** Stops after so many cases, where that comes first. */
  readonly cases?: number;
  /** Told of each case when it is over. */
  readonly onCase?: (words: string) => void;
}

/** A case as the corpus keeps it, in JSON. */
export type SavedCase = Readonly<Record<string, unknown>>;

export interface Target {
  /** Throws a Difference. */
  fuzz(options: FuzzOptions): Promise<void>;
  /** Plays a case of the corpus again. Throws a Difference. */
  replay(saved: SavedCase): Promise<void>;
}

export class Difference extends Error {
  readonly saved: SavedCase;

  constructor(words: string, saved: SavedCase) {
    super(words);
    this.saved = saved;
  }
}

/**
 * Makes a target of a fuzzer that throws Errors of its own, which name the seed of the case as `seed 1:`. A case of the corpus
 * is a seed.
 */
export function bySeed(fuzz: (options: FuzzOptions) => Promise<void>): Target {
  const play = async (options: FuzzOptions) => {
    try {
      await fuzz(options);
    } catch (error) {
      const { message, stack } = error as Error;
      const seed = Number(/\bseed (\d+)/.exec(message)?.[1] ?? options.seed);
      throw new Difference(stack ?? message, { seed });
    }
  };
  return { fuzz: play, replay: ({ seed }) => play({ seed: Number(seed), cases: 1, seconds: replaySeconds }) };
}

/** For those that do not count their cases. */
const replaySeconds = 1;
