/** What calls and attempts use of a model, and how they ask to be served: the words that providers, meters and the ledger share. */

/** What an attempt used, in parts that do not overlap. */
export interface Usage {
  /** Input tokens that were neither read from nor written to a prompt cache. */
  readonly input: number;
  readonly cacheRead: number;
  /** Written to a prompt cache for its shortest lifetime. */
  readonly cacheWrite: number;
  /** Written to a prompt cache for an hour. */
  readonly cacheWriteHour: number;
  /** Output tokens, reasoning in them. */
  readonly output: number;
  /** Those of the output that were reasoning. */
  readonly reasoning: number;
  /** Those of `input` that were sound, and pictures; unset: nothing was told of them. */
  readonly inputAudio?: number | undefined;
  readonly inputImage?: number | undefined;
  /** Those of the output that were sound. */
  readonly outputAudio?: number | undefined;
  /** Searches of the web that the vendor made, each of which costs. */
  readonly searches?: number | undefined;
}

/** How a call is to be served, or was, beyond the ordinary, in the vendor's words; "" is the ordinary way. */
export interface Manner {
  /** The service tier, as `priority` or `flex`. */
  readonly tier: string;
  /** Anthropic's `speed`, as `fast`. */
  readonly speed: string;
  /** Where it is computed, as `us`. */
  readonly region: string;
}

/** So much of it as is told. */
export type ToldManner = { readonly [part in keyof Manner]?: string | undefined };
export type ToldUsage = { readonly [part in keyof Usage]?: number | undefined } & {
  /** How the upstream says that it serves the call. */
  readonly manner?: ToldManner | undefined;
};

/** What a call used, in parts that do not overlap; of speech, the characters of its input. */
export interface CallUsage extends Usage {
  readonly characters: number;
}

export const nothingUsed: CallUsage = {
  input: 0,
  cacheRead: 0,
  cacheWrite: 0,
  cacheWriteHour: 0,
  output: 0,
  reasoning: 0,
  characters: 0,
};
