/** The parts of a model's price, in millionths of the unit: per million tokens or characters, per search, per request. */

/** What a million of each kind costs. 0 is a price. */
export interface Rates {
  readonly input: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly cacheWriteHour: number;
  readonly output: number;
  /** Per million characters of speech input. */
  readonly characters: number;
  /** Of the input that is sound, or pictures; unset: what `input` is. */
  readonly inputAudio?: number | undefined;
  readonly inputImage?: number | undefined;
  /** Of the output that is sound; unset: what `output` is. */
  readonly outputAudio?: number | undefined;
}

/** The rates of a call whose prompt has more than so many tokens, its cache among them: all of the call has them. */
export interface Band extends Rates {
  readonly above: number;
}

/** Rates, and those of long prompts by their bounds, ascending. */
export interface RateCard extends Rates {
  readonly long?: readonly Band[] | undefined;
}

/** The ways of being served that have rates of their own. */
export const modes = ["priority", "fast", "flex", "batch"] as const;
export type Mode = (typeof modes)[number];

/** All parts of a model's price. What is unset has no price. */
export interface Price extends RateCard {
  /** By the way in which a call is served. */
  readonly modes?: { readonly [mode in Mode]?: RateCard } | undefined;
  /** What all of it is multiplied by where a call is computed in a region, in millionths. */
  readonly regional?: number | undefined;
  /** A search of the web. */
  readonly search?: number | undefined;
  /** A request to an upstream, beside what it uses. */
  readonly request?: number | undefined;
}

export const kinds = ["input", "cacheRead", "cacheWrite", "cacheWriteHour", "output", "characters"] as const;
/** What is counted in another kind, and costs what that does where it has no rate of its own. */
export const rareKinds = [
  ["inputAudio", "input"],
  ["inputImage", "input"],
  ["outputAudio", "output"],
] as const;
