/**
 * CallRecord is what the stages of a call record of it, for the log, the metrics and the traces that report it when it has ended.
 * It never holds a request, an answer or a credential.
 */
import type { Outcome } from "../../gen/modelgateway/v1/usage_pb.ts";
import type { Slotted } from "../runtime/slot-set.ts";
import type { CallUsage, Usage } from "./usage.ts";

/**
 * CallRecord is what is recorded of a call. Members are set as far as the call came. Durations are in milliseconds, moments in milliseconds
 * since 1970.
 */
export interface CallRecord extends Slotted {
  /** An operation of `operations.ts`; unset where the call is not put to a model. */
  operation?: string;
  form?: "whole" | "stream";
  /** The catalogue's id of the model that answered, or was tried last. */
  model?: string;
  /** named is what a refused caller called the model, where no such model was found; undefined unless it has the form of a model's name. */
  named?: string | undefined;
  /** In the order in which they began. */
  attempts: readonly AttemptRecord[];
  /** lastAttempt is the attempt that answered, or whose failure the caller was told, or was sent last; unset before one was sent. */
  lastAttempt?: AttemptRecord;
  /** The pauses before retries, in all. */
  pausedMs?: number;
  /** The bound that credit sets to the output of each answer, in tokens; undefined where it sets none. */
  outputBound?: number | undefined;
  outcome?: Outcome;
  /** gaveUp is whether the model stopped by an error or a filter. */
  gaveUp?: boolean;
  /** The time from the arrival of the call to its first byte of answer. */
  firstByteMs?: number;
  /** The gateway's own part of that time: without queues, upstreams and pauses between attempts. */
  ownMs?: number;
  used?: CallUsage;
  /** isImplausible is whether its upstream reported usage that cannot be true. */
  isImplausible?: boolean;
  /** drainedMs is how long its stream was drained after its caller had disconnected; unset where it was not. */
  drainedMs?: number;
  /** Set where the caller has disconnected and the call is still drained: it ends when this resolves, and is captured then. */
  pendingCapture?: PromiseLike<void>;
  /** cost is in millionths of the unit. */
  cost?: number;
  waived?: number;
  /** The store that the answer came from; unset if an upstream was asked. */
  replayed?: "cache" | "idempotency";
  /** trace is unset where no traces are kept. */
  trace?: CallTrace;
}

/** AttemptRecord is what is recorded of one request to an upstream. */
export interface AttemptRecord {
  readonly upstream: string;
  /** The API that the upstream speaks: openai, anthropic, embedded. */
  readonly kind: string;
  /** The model's name at the upstream, and its id in the catalogue. */
  readonly model: string;
  readonly modelId: string;
  readonly begunAt: number;
  /** The same by `performance.now()`. */
  readonly sentAt: number;
  /** isQueued is whether it waits in the upstream's queue now. */
  isQueued?: boolean;
  /** isHeldUp is whether its answer has come and waits for memory now. */
  isHeldUp?: boolean;
  /** queuedMs is how long it waited in the queue. */
  queuedMs: number;
  /** waitedMs is how long the upstream took, until its answer could be passed on. */
  waitedMs: number;
  /** The time until the head of the answer arrived; unset where none did. */
  firstByteMs?: number;
  endedAt?: number;
  /** failure is what failed, in the gateway's own words; unset if the attempt did not fail, or was rejected. */
  failure?: string;
  /** outcome is how it ended without its upstream's fault: the request was rejected, or a time-out of the caller's own passed. */
  outcome?: typeof Outcome.REJECTED | typeof Outcome.LEFT;
  /** isHedge is whether it was made beside another attempt that had not answered yet. */
  isHedge?: boolean;
  /** isOvertaken is whether it was aborted because another attempt was faster. */
  isOvertaken?: boolean;
  /** told is what its upstream reported of an attempt that is charged to nobody, as far as it did. */
  told?: Usage;
}

/** CallTrace is a call's place in a distributed trace (W3C Trace Context). */
export interface CallTrace {
  /** Notes that an attempt begins, and returns the trace headers for its upstream. */
  began(attempt: AttemptRecord): Readonly<Record<string, string>>;
}

export function newCallRecord(): CallRecord {
  return { attempts: [] };
}
