/** The parts of a model's price, in millionths of the unit: per million tokens or characters, per search, per request. */

/** Rates are the cost of a million of each kind. 0 is a price. */
export interface Rates {
  readonly input: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly cacheWriteHour: number;
  readonly output: number;
  /** Per million characters of speech input. */
  readonly characters: number;
  /** For audio and image tokens of the input. Default: the rate of `input`. */
  readonly inputAudio?: number | undefined;
  readonly inputImage?: number | undefined;
  /** For audio tokens of the output. Default: the rate of `output`. */
  readonly outputAudio?: number | undefined;
}

/** Band has the rates of a whole call whose prompt has more than `above` tokens, cached ones included. */
export interface Band extends Rates {
  readonly above: number;
}

/** RateCard has the rates, and the bands for long prompts, ascending. */
export interface RateCard extends Rates {
  readonly long?: readonly Band[] | undefined;
}

/** modes are the service tiers and speeds that have rates of their own. */
export const modes = ["priority", "fast", "ultrafast", "flex", "batch"] as const;
export type Mode = (typeof modes)[number];

/** Price has all parts of a model's price. A part that is unset has no price. */
export interface Price extends RateCard {
  /** By service tier or speed. */
  readonly modes?: { readonly [mode in Mode]?: RateCard } | undefined;
  /** The factor for calls that are computed in one region, in millionths. */
  readonly regional?: number | undefined;
  /** For each web search. */
  readonly search?: number | undefined;
  /** For each request to an upstream, besides what it uses. */
  readonly request?: number | undefined;
}

export const kinds = ["input", "cacheRead", "cacheWrite", "cacheWriteHour", "output", "characters"] as const;
/** rareKinds are kinds that are also counted within another kind, and have its rate by default. */
export const rareKinds = [
  ["inputAudio", "input"],
  ["inputImage", "input"],
  ["outputAudio", "output"],
] as const;
