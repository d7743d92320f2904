/**
 * Breaker is the circuit breaker of a target: it keeps calls away from a target that keeps failing, and lets them back slowly.
 *
 * A number of failures in a row opens it, and for a while nothing is sent to the target. Then one call goes through as a probe,
 * and one more each second until a probe is answered. After a success the target gets calls again, a tenth of its share at first
 * and all of it half a minute later; after a failure the breaker stays open as long again. A caller that disconnects proves
 * nothing about the target, and neither does an answer that says it is overloaded.
 */
export interface BreakerOptions {
  /** Returns the number of failures in a row that open the breaker, and how many milliseconds it stays open. */
  readonly settings: () => BreakerSettings;
  /** clock returns milliseconds since 1970. */
  readonly clock: () => number;
  /** Called when the breaker opens, and when it closes again. */
  readonly onChange: (isOpen: boolean) => void;
}

export interface BreakerSettings {
  readonly failures: number;
  readonly openMs: number;
}

export interface Breaker {
  /** Milliseconds until the breaker lets a probe through; 0 if closed, or if a probe is due. */
  restMs(): number;
  /** Milliseconds until the target's `Retry-After` has passed. Other targets go first, but without any this one is tried. */
  askedMs(): number;
  /** Notes the target's `Retry-After`, in milliseconds. */
  asks(ms: number): void;
  /** The share of its weight that the target gets, above 0 and at most 1. */
  share(): number;
  /** Notes that a call is sent to the target. */
  began(): void;
  /** Notes how such a call ended. */
  ended(how: "well" | "badly" | "unproved"): void;
}

/** The time between probes. A dead target fails at once; a slow probe must not keep all other calls away meanwhile. */
const betweenProbesMs = 1000;
/** The longest `Retry-After` that is heeded: an exhausted daily quota may be raised before the day is over. */
const maxAskedMs = 3_600_000;
const minShare = 0.1;
const slowStartMs = 30_000;

export function createBreaker({ settings, clock, onChange }: BreakerOptions): Breaker {
  let failures = 0;
  let openedAt: number | undefined;
  /** probedAt is when the last probe was sent; undefined where none is under way. */
  let probedAt: number | undefined;
  let closedAt = Number.NEGATIVE_INFINITY;
  let askedUntil = Number.NEGATIVE_INFINITY;
  const restMs = () => {
    if (openedAt === undefined) return 0;
    const { openMs } = settings();
    const until = probedAt === undefined ? openedAt + openMs : probedAt + Math.min(openMs, betweenProbesMs);
    return Math.max(0, until - clock());
  };
  return {
    restMs,
    askedMs: () => Math.max(0, askedUntil - clock()),
    asks(ms) {
      askedUntil = clock() + Math.min(ms, maxAskedMs);
    },
    share: () => Math.min(1, minShare + (clock() - closedAt) / slowStartMs),
    began() {
      if (openedAt !== undefined) probedAt = clock();
    },
    ended(how) {
      const isProbe = probedAt !== undefined;
      probedAt = undefined;
      if (how === "unproved") return;
      if (how === "well") {
        failures = 0;
        if (openedAt === undefined) return;
        closedAt = clock();
        openedAt = undefined;
        onChange(false);
      } else if (++failures >= settings().failures || isProbe) {
        if (openedAt === undefined) onChange(true);
        openedAt = clock();
      }
    },
  };
}
