/**
 * Pace tracks how many output tokens a second a target generates: a moving average over the streams whose usage it reported, in
 * which each counts a tenth. Hidden reasoning is estimated by it where a caller disconnects and no usage arrives in time.
 */
export interface Pace {
  /** Notes a stream that ended with its usage; `ms` is how long the model generated. */
  observed(tokens: number, ms: number, hasReasoned: boolean): void;
  tokensPerSecond(): number;
  /** Reports whether the target has ever reported reasoning. */
  hasReasoned(): boolean;
}

/** The pace until a stream was observed. */
const initialPace = 50;
const share = 0.1;
/** A shorter stream says more about the network than about the model. */
const [minTokens, minMs] = [32, 200];
const [minPace, maxPace] = [1, 5_000];

export function createPace(): Pace {
  let average: number | undefined;
  let hasReasoned = false;
  return {
    observed(tokens, ms, reasoned) {
      hasReasoned ||= reasoned;
      if (tokens < minTokens || ms < minMs) return;
      const rate = Math.min(maxPace, Math.max(minPace, (tokens * 1000) / ms));
      average = average === undefined ? rate : average * (1 - share) + rate * share;
    },
    tokensPerSecond: () => average ?? initialPace,
    hasReasoned: () => hasReasoned,
  };
}
