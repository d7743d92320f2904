/**
 * Leaves a target alone that keeps failing, and comes back to it slowly.
 *
 * So many failures without a success between them open the breaker: for a while nothing is sent there. Then one call tries
 * it, and each second another while that is not answered. Where that goes well the target takes calls again, at first a tenth
 * of its share and all of it half a minute later; where it fails, it is left alone as long again. Who leaves a call has proved
 * nothing, nor has a target that is busy.
 */
export interface BreakerOptions {
  /** How many failures in a row open it. */
  readonly failures: number;
  /** For how long it stays open. */
  readonly openMs: number;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** Told when it opens, and when it is closed again. */
  readonly onChange: (isOpen: boolean) => void;
}

export interface Breaker {
  /** For how long nothing is sent there yet, in milliseconds; 0 where it may be tried. */
  restMs(): number;
  /** For how long it has asked to be left alone yet, in milliseconds: others go first, but where there are none it is asked. */
  askedMs(): number;
  /** Notes that it asks to be left alone for so long, in milliseconds: `Retry-After`. */
  asks(ms: number): void;
  /** Which part of its weight the target gets, above 0 and at most 1. */
  share(): number;
  /** Notes that a call goes there. */
  began(): void;
  /** Notes how it ended. */
  ended(how: "well" | "badly" | "unproved"): void;
}

/** What is dead fails at once; what answers slowly must not keep everybody out that long. */
const betweenTrialsMs = 1000;
/** What an upstream may ask for; a day's quota need not keep a target away for all of it. */
const longestAskedMs = 3_600_000;
const leastShare = 0.1;
const slowStartMs = 30_000;

export function createBreaker({ failures: most, openMs, clock, onChange }: BreakerOptions): Breaker {
  let failures = 0;
  let openedAt: number | undefined;
  /** When a call last began to try a target that was left alone; undefined where none tries it. */
  let triedAt: number | undefined;
  let closedAt = Number.NEGATIVE_INFINITY;
  let askedUntil = Number.NEGATIVE_INFINITY;
  const restMs = () => {
    if (openedAt === undefined) return 0;
    const until = triedAt === undefined ? openedAt + openMs : triedAt + Math.min(openMs, betweenTrialsMs);
    return Math.max(0, until - clock());
  };
  return {
    restMs,
    askedMs: () => Math.max(0, askedUntil - clock()),
    asks(ms) {
      askedUntil = clock() + Math.min(ms, longestAskedMs);
    },
    share: () => Math.min(1, leastShare + (clock() - closedAt) / slowStartMs),
    began() {
      if (openedAt !== undefined) triedAt = clock();
    },
    ended(how) {
      const isTrial = triedAt !== undefined;
      triedAt = undefined;
      if (how === "unproved") return;
      if (how === "well") {
        failures = 0;
        if (openedAt === undefined) return;
        closedAt = clock();
        openedAt = undefined;
        onChange(false);
      } else if (++failures >= most || isTrial) {
        if (openedAt === undefined) onChange(true);
        openedAt = clock();
      }
    },
  };
}
