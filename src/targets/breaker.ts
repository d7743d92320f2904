/**
 * Leaves a target alone that keeps failing, and comes back to it slowly.
 *
 * So many failures without a success between them open the breaker: for a while nothing is sent there. Then one call tries
 * it. Where that goes well the target takes calls again, at first a tenth of its share and all of it half a minute later;
 * where it fails, it is left alone as long again. Who leaves a call has proved nothing, nor has a target that is busy.
 */
export interface BreakerOptions {
  /** How many failures in a row open it. */
  readonly failures: number;
  /** For how long it stays open. */
  readonly openMs: number;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
}

export interface Breaker {
  /** Whether a call may go there now, without taking anything. */
  isOpen(): boolean;
  /** For how long nothing is sent there yet, in milliseconds; 0 where it may be tried. */
  restMs(): number;
  /** Which part of its weight the target gets, above 0 and at most 1. */
  share(): number;
  /** Notes that a call goes there. */
  began(): void;
  /** Notes how it ended. */
  ended(how: "well" | "badly" | "unproved"): void;
}

const leastShare = 0.1;
const slowStartMs = 30_000;

export function createBreaker({ failures: most, openMs, clock }: BreakerOptions): Breaker {
  let failures = 0;
  let openedAt: number | undefined;
  /** Whether a call tries a target that was left alone. */
  let trying = false;
  let closedAt = Number.NEGATIVE_INFINITY;
  const restMs = () => (openedAt === undefined ? 0 : Math.max(0, openedAt + openMs - clock()));
  return {
    isOpen: () => openedAt !== undefined && (trying || restMs() > 0),
    restMs: () => (trying ? openMs : restMs()),
    share: () => Math.min(1, leastShare + (clock() - closedAt) / slowStartMs),
    began() {
      if (openedAt !== undefined) trying = true;
    },
    ended(how) {
      if (how === "unproved") {
        trying = false;
      } else if (how === "well") {
        failures = 0;
        if (openedAt !== undefined) closedAt = clock();
        openedAt = undefined;
        trying = false;
      } else if (++failures >= most || trying) {
        openedAt = clock();
        trying = false;
      }
    },
  };
}
