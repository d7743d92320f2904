/**
 * How many output tokens a second a target puts out, by the streams whose usage it told: an average in which each stream
 * counts a tenth. By it reasoning is estimated that nobody sees, where a caller leaves and no usage is told in time.
 */
export interface Pace {
  /** Learns from a stream that ended with its usage: `ms` is how long the model put out tokens. */
  observed(tokens: number, ms: number, hasReasoned: boolean): void;
  tokensPerSecond(): number;
  /** Whether the target ever told of reasoning. */
  hasReasoned(): boolean;
}

/** Until something was observed. */
const unknown = 50;
const share = 0.1;
/** A shorter stream tells of the network rather than of the model. */
const [fewestTokens, shortestMs] = [32, 200];
const [slowest, quickest] = [1, 5_000];

export function createPace(): Pace {
  let average: number | undefined;
  let hasReasoned = false;
  return {
    observed(tokens, ms, reasoned) {
      hasReasoned ||= reasoned;
      if (tokens < fewestTokens || ms < shortestMs) return;
      const rate = Math.min(quickest, Math.max(slowest, (tokens * 1000) / ms));
      average = average === undefined ? rate : average * (1 - share) + rate * share;
    },
    tokensPerSecond: () => average ?? unknown,
    hasReasoned: () => hasReasoned,
  };
}
