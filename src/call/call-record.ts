/**
 * What the steps of a call's way find out about it, and write down as they do: for the log, the metrics and the traces, which
 * tell of it when it has ended. Never what was asked or answered, and never a credential.
 */
import type { Outcome } from "../../gen/modelgateway/v1/usage_pb.ts";
import type { Slotted } from "../runtime/slot-set.ts";
import type { CallUsage } from "./usage.ts";

/** Everything here is of the call as far as it came. Durations are in milliseconds, moments in milliseconds since 1970. */
export interface CallRecord extends Slotted {
  /** What was asked of a model: an operation of `call/operations.ts`. Unset: the call is about no model. */
  operation?: string;
  form?: "whole" | "stream";
  /** The catalogue's id of the model that answered, or was asked last. */
  model?: string;
  /** In the order in which they began. */
  attempts: readonly AttemptRecord[];
  /** How long it paused before it was tried again. */
  pausedMs?: number;
  /** The most that each answer may put out where credit bounds it, in tokens; undefined where it does not. */
  outputBound?: number | undefined;
  outcome?: Outcome;
  /** Whether the model gave up: it finished by an error or a filter. */
  gaveUp?: boolean;
  /** How long after the call's beginning the first of its answer was handed over. */
  firstByteMs?: number;
  /** How long the gateway itself took until then: without queues, upstreams and pauses between attempts. */
  ownMs?: number;
  used?: CallUsage;
  /** How long its stream was read on after its caller had left; unset where it was not. */
  drainedMs?: number;
  /** Set where the caller has left and its call is not charged yet: it ends when that has been done. */
  pendingCapture?: PromiseLike<void>;
  /** In millionths of the unit. */
  cost?: number;
  waived?: number;
  /** Where the answer came from, if no upstream was asked for it. */
  replayed?: "cache" | "idempotency";
  /** Where the call belongs among the traces of others; unset where none are kept. */
  trace?: CallTrace;
}

/** One request to an upstream. */
export interface AttemptRecord {
  readonly upstream: string;
  /** The API that is spoken there: openai, anthropic, embedded. */
  readonly kind: string;
  /** The model's name there, and the catalogue's id of it. */
  readonly model: string;
  readonly modelId: string;
  readonly begunAt: number;
  /** The same by `performance.now()`. */
  readonly sentAt: number;
  /** Whether it waits for a place at the upstream. */
  isQueued?: boolean;
  /** How long it did. */
  queuedMs: number;
  /** How long it waited for the upstream's bytes, until its answer could be handed on. */
  waitedMs: number;
  /** How long after it was sent the head of the answer came; unset where none did. */
  firstByteMs?: number;
  endedAt?: number;
  /** What failed by the upstream's fault, in the gateway's own words. */
  failure?: string;
  /** Whether it was made beside another that had not answered yet. */
  isHedge?: boolean;
  /** Whether it was given up, for another was quicker. */
  isOvertaken?: boolean;
}

/** A call's place among traces (W3C Trace Context). */
export interface CallTrace {
  /** Notes that an attempt begins, and returns the headers that tell its upstream where it belongs. */
  began(attempt: AttemptRecord): Readonly<Record<string, string>>;
}

export function newCallRecord(): CallRecord {
  return { attempts: [] };
}
