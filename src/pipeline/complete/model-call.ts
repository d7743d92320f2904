/**
 * ModelCall is everything that the stages of one call to a model know of it. Each stage reads what the stages before it found,
 * and fills in its own part; `complete.ts` says in which order.
 */
import type { Outcome } from "../../../gen/modelgateway/v1/usage_pb.ts";
import type { Call } from "../../call/call.ts";
import type { AttemptRecord } from "../../call/call-record.ts";
import type { NearestLimit } from "../../call/key-limits.ts";
import type { Form, Operation } from "../../call/operations.ts";
import type { Tier } from "../../call/tiers.ts";
import type { CallUsage } from "../../call/usage.ts";
import type { Hold } from "../../ledger/contract.ts";
import type { Timeouts } from "../../providers/upstream/timeouts.ts";
import type { MaybePromise } from "../../runtime/maybe-promise.ts";
import type { Model } from "../../targets/catalog.ts";
import type { Wire } from "../../wire/wire.ts";
import type { CallStreams } from "../attempt/call-streams.ts";
import type { CallMeter } from "../charge/meter.ts";
import type { Candidate } from "./candidates.ts";

/** CallSettings may change while the gateway serves. A call goes by those that held when it began. */
export interface CallSettings {
  /** Tiers are sorted, lowest first. */
  readonly tiers: readonly Tier[];
  /** The most attempts that a call makes at one model. */
  readonly retries: { readonly attempts: number };
  /** After how many milliseconds a second attempt is made beside the first; undefined: never. */
  readonly hedging: { readonly afterMs: number } | undefined;
  readonly unit: Unit;
}

/** Unit is the unit of money, by the code that refusals tell amounts in. */
export interface Unit {
  readonly code: string;
}

export interface ModelCall {
  readonly call: Call;
  readonly settings: CallSettings;
  /** operation is what the caller asked. A candidate may be asked another operation, with the same meaning. */
  readonly operation: Operation;
  readonly form: Form;
  /** arrivedAt is when the call arrived: in milliseconds since 1970, and by `performance.now()`. */
  readonly arrivedAt: number;
  readonly startedAt: number;

  /** The caller's own bounds for each attempt, and the moment when all attempts must be over, in milliseconds since 1970. */
  readonly timeouts: Partial<Timeouts>;
  readonly deadline: number;
  /** isStrict is whether the caller wants a refusal rather than an answer to less than it asked. */
  readonly isStrict: boolean;
  /** The place in an upstream's queue: 0 (first) to 9. */
  readonly priority: number;

  /** candidates is where the call may go, in the order in which it is tried. */
  readonly candidates: readonly [Candidate, ...Candidate[]];

  /** hold is what is held of the payer's credit (`hold.ts`). */
  readonly hold: CallHold;

  /** lastCandidate is where the attempt went that the record names (`CallRecord.lastAttempt`); the first one before anything was sent. */
  lastCandidate: Candidate;
  /** failed are the attempts that failed, with their errors: the caller is told one of these. Undefined: none. */
  failed?: readonly FailedWith[];
  /** Measures what all attempts use. */
  readonly meter: CallMeter;
  /** The upstream streams of the call; undefined for a unary answer. */
  readonly streams: CallStreams | undefined;

  /** outcome is how and when the call ended, and when its caller got the first byte: in milliseconds since 1970 (`capture.ts`). */
  outcome: Outcome;
  endedAt: number;
  firstByteAt: number | undefined;
  /** charged is what the call is charged for, once that is captured: nothing where it brought nothing. */
  charged?: CallUsage;
}

/** FailedWith is an attempt that failed, and the error that it failed with. */
export interface FailedWith {
  readonly error: unknown;
  readonly candidate: Candidate;
  readonly record: AttemptRecord;
}

/** CallHold is what is held for a call at the moment: one hold for all requests that it makes to one model. */
export interface CallHold {
  /** The model that the hold was made for; undefined before the first. */
  model: Model | undefined;
  /** Bounds the output of a request to what the hold pays for. It is there when the hold is made. */
  boundOutput: MaybePromise<BoundOutput> | undefined;
  /** Undefined before the hold is made. Of a call that costs nothing it is 0. */
  held: Hold | undefined;
  /** The key's own limit for the model that is nearest to its end; undefined where it has none. */
  nearest?: NearestLimit | undefined;
  /** isMade is whether the call got as far as its hold. One that did not was refused, and is never charged. */
  isMade: boolean;
}

/** BoundOutput bounds the output of a request. `boundName` is the member by which the upstream's chat API does so. */
export type BoundOutput = <W extends Wire>(operation: Operation, request: W, boundName: string) => W;
