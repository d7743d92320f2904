/** Usage of a call or an attempt, and the service tier that it asks for. Providers, meters and the ledger share these types. */

/** Usage is what an attempt used, in parts that do not overlap. */
export interface Usage {
  /** Input tokens that were neither read from a prompt cache nor written to one. */
  readonly input: number;
  readonly cacheRead: number;
  /** Input tokens written to a prompt cache for its default lifetime. */
  readonly cacheWrite: number;
  /** Input tokens written to a prompt cache for longer: an hour, or 12 at OpenAI. */
  readonly cacheWriteHour: number;
  /** Output tokens, including reasoning. */
  readonly output: number;
  /** The part of `output` that was reasoning. */
  readonly reasoning: number;
  /** The parts of `input` that were audio and images; unset where the upstream did not report them. */
  readonly inputAudio?: number | undefined;
  readonly inputImage?: number | undefined;
  /** The part of `output` that was audio. */
  readonly outputAudio?: number | undefined;
  /** Web searches that the vendor made. Each is charged. */
  readonly searches?: number | undefined;
}

/** Manner is how a call is to be served, or was served, in the vendor's words; "" is the default. */
export interface Manner {
  /** The service tier, as `priority` or `flex`. */
  readonly tier: string;
  /** Anthropic's `speed`, as `fast`. */
  readonly speed: string;
  /** The region of computation, as `us`. */
  readonly region: string;
}

/** ToldManner are the parts that an upstream reported. */
export type ToldManner = { readonly [part in keyof Manner]?: string | undefined };
export type ToldUsage = { readonly [part in keyof Usage]?: number | undefined } & {
  /** manner is how the upstream served the call. */
  readonly manner?: ToldManner | undefined;
  /** The output that it reported before there was any: a placeholder, or all of it. No less was used. */
  readonly leastOutput?: number | undefined;
  /** isBroken is set where it reported a count that is none, as a fraction, a text or a number below 0. */
  readonly isBroken?: true | undefined;
  /** isElsewhere is set where it reported counts only in other places, or by other names, than callers of its API look for. */
  readonly isElsewhere?: true | undefined;
};

/** CallUsage is what a call used, in parts that do not overlap; for speech, the characters of its input. */
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

/** totalInput returns all input tokens, cache reads and writes included. */
export function totalInput({ input = 0, cacheRead = 0, cacheWrite = 0, cacheWriteHour = 0 }: ToldUsage): number {
  return input + cacheRead + cacheWrite + cacheWriteHour;
}

/** addUsage returns the sum of two usages. A rare part that neither has stays unset. */
export function addUsage(one: CallUsage, other: CallUsage): CallUsage {
  const sum = new Map<string, number>();
  for (const [part, count = 0] of [...Object.entries(one), ...Object.entries(other)]) {
    sum.set(part, (sum.get(part) ?? 0) + count);
  }
  return Object.fromEntries(sum) as unknown as CallUsage;
}

/** keptTokens returns the tokens that were used by the names that rows of calls keep them under; `cache_write` has all writes. */
export function keptTokens({ input, cacheRead, cacheWrite, cacheWriteHour, output, reasoning }: Usage) {
  return {
    input,
    cache_read: cacheRead,
    cache_write: cacheWrite + cacheWriteHour,
    cache_write_hour: cacheWriteHour,
    output,
    reasoning,
  };
}
