/**
 * Rotates the keys of an upstream: each call begins with the next key.
 *
 * A key that is refused or rate-limited rests as long as the upstream asks, else for a fixed time, and the call goes
 * on with the next key at once. When all keys rest, the one that is ready soonest is tried, and the upstream's
 * refusal stands.
 */
import type { Answer } from "../../call/call.ts";
import type { Operation } from "../../call/operations.ts";
import { Refusal } from "../../call/refusals.ts";
import { catchError, type MaybePromise } from "../../runtime/maybe-promise.ts";
import type { Attempt, Provider, Speak } from "../contract.ts";
import { isPermanent, retryAfterMs } from "../errors/fault.ts";

/** Rest times in milliseconds. */
const restWhenRefused = 60_000;
const restWhenSpent = 1_000;

/** ByKey is the upstream under one of its keys. */
interface ByKey {
  readonly provider: Provider;
  /** The end of the key's rest, in milliseconds since 1970. */
  restsUntil: number;
}

/** `providers` are the same upstream, each with its own key. */
export function rotateKeys(providers: readonly [Provider, ...Provider[]], clock: () => number): Provider {
  const [first, ...others] = providers;
  if (others.length === 0) return first;
  const keys = providers.map((provider): ByKey => ({ provider, restsUntil: 0 }));
  let turn = 0;

  /** Returns the keys in the order in which a call tries them. */
  function inTurn(): ByKey[] {
    const from = turn++ % keys.length;
    const now = clock();
    const ordered = [...keys.slice(from), ...keys.slice(0, from)];
    const [soonest] = ordered.toSorted((a, b) => a.restsUntil - b.restsUntil);
    const rested = ordered.filter(({ restsUntil }) => restsUntil <= now);
    return rested.length > 0 ? rested : [soonest as ByKey];
  }

  function speakBy(operation: Operation): Speak<Operation> {
    const speak = (attempt: Attempt, key: ByKey, further: readonly ByKey[]): MaybePromise<Answer> =>
      catchError(
        () => (key.provider.speaks[operation] as Speak<Operation>)(attempt) as MaybePromise<Answer>,
        (error) => {
          const restMs = restFor(error);
          if (restMs !== undefined) key.restsUntil = clock() + restMs;
          const [next, ...others] = further;
          if (restMs === undefined || !next) throw error;
          return speak(attempt, next, others);
        },
      );
    return ((attempt: Attempt) => {
      const [key, ...further] = inTurn();
      return speak(attempt, key as ByKey, further);
    }) as unknown as Speak<Operation>;
  }

  const operations = Object.keys(first.speaks) as Operation[];
  return {
    ...first,
    speaks: Object.fromEntries(operations.map((operation) => [operation, speakBy(operation)])) as Provider["speaks"],
    async close() {
      await Promise.all(providers.map((provider) => provider.close()));
    },
  };
}

/** restFor returns how long a key rests after this error, in milliseconds; undefined where another key would meet the same error. */
function restFor(error: unknown): number | undefined {
  if (!(error instanceof Refusal)) return undefined;
  if (error.status === 429) return retryAfterMs(error) || restWhenSpent;
  return isPermanent(error) ? restWhenRefused : undefined;
}
