/**
 * Slices is the contract of a rate that several processes share: a token bucket for each id, kept in one place, of which each
 * process leases slices. A process decides calls from the slice at hand and asks for the next when that is used up, so that one
 * round trip serves many calls. All of it is plain data, which can be sent to another process.
 */
import type { MaybePromise } from "../runtime/maybe-promise.ts";
import type { Rate } from "./limiter.ts";

/** Ask asks for a slice of a bucket. All numbers are whole units; `least` 0 with `need` 0 and `spare` 0 only looks. */
export interface Ask {
  readonly id: string;
  /** The bucket's rate. When it changes, the bucket stays filled in the same proportion; what it owes it owes still. */
  readonly rate: Rate;
  /** least is what the smallest call that waits takes. A bucket that holds less grants nothing. */
  readonly least: number;
  /** need is what all calls that wait take together, at least `least`. It is granted as far as the bucket holds it. */
  readonly need: number;
  /** spare is what the calls of the next 50 ms are expected to take. It is granted from ample buckets only. */
  readonly spare: number;
  /**
   * drawn is what was used beyond slices since the last ask, taken before anything is granted. The bucket may go into debt by one window's
   * worth at most. Negative: what is given back.
   */
  readonly drawn: number;
}

/** Slice is the answer to an Ask. */
export interface Slice {
  /** The units that were granted, from 0 to `need` and `spare` together. */
  readonly units: number;
  /** parts are what the bucket holds after that, in parts: a unit has `windowMs` of them. Negative in debt. */
  readonly parts: number;
}

/** Unused is what is left of a slice. */
export interface Unused {
  readonly id: string;
  readonly rate: Rate;
  readonly units: number;
}

export interface Slices {
  /**
   * Answers the asks of one turn of the event loop together, in their order. Rejects where the place that keeps the buckets does not
   * answer in time: then nothing of it counts, and what it granted nevertheless is given back.
   */
  take(asks: readonly Ask[]): MaybePromise<readonly Slice[]>;
  /**
   * Gives back what is left of slices: at once, or, while what keeps the buckets is away, when that is back. What was given back without
   * an answer is lost, so that a bucket never has more than it should.
   */
  giveBack(unused: readonly Unused[]): void;
  /** Reports whether the place that keeps the buckets is away. Nothing is asked of it meanwhile. */
  isAway(): boolean;
  /** Returns how many processes share the buckets, as last known: at least 1. */
  nodes(): number;
}

/** sliceMs is for how many milliseconds a slice is to suffice. One that is unused for twice as long goes back. */
export const sliceMs = 50;

/** spareParts is the part of what its bucket holds that a slice takes at most, beyond what calls wait for: others want some, too. */
export const spareParts = 12;
