/**
 * Captures a call once, however it ends.
 *
 * A unary answer is captured before it is sent. A stream is captured before the batch that holds its end; one that breaks off, or
 * whose caller disconnects, is captured then. Disconnecting does not prevent the capture, and keeps nothing waiting for it.
 */
import { Outcome } from "../../../gen/modelgateway/v1/usage_pb.ts";
import type { Answer, AnswerHeaders, Call, Frames } from "../../call/call.ts";
import { Refusal } from "../../call/refusals.ts";
import type { Ledger } from "../../ledger/contract.ts";
import { countsForHealth, isRejection } from "../../providers/errors/fault.ts";
import { andThen, Deferred, type MaybePromise, thenOrCatch } from "../../runtime/maybe-promise.ts";
import { forEach, pushStream, stopPulling } from "../../runtime/push-stream.ts";
import type { CallStreams } from "../attempt/call-streams.ts";
import type { CallMeter } from "./meter.ts";

/** ChargeCall captures a call, and returns the headers that report its cost. `firstByteAt` is when its caller got the first byte. */
export type ChargeCall = (
  outcome: Outcome,
  endedAt: number,
  firstByteAt: number | undefined,
) => MaybePromise<AnswerHeaders>;

/** CapturedCall is a call that will be captured: a ModelCall, or one that is answered from the cache. */
export interface CapturedCall {
  readonly call: Call;
  /** arrivedAt is in milliseconds since 1970. */
  readonly arrivedAt: number;
  /** Knows whether the end of the answer has been seen, before the batch that holds it is sent. */
  readonly meter: Pick<CallMeter, "isOver">;
  /** streams is undefined where it reads no upstream stream. */
  readonly streams?: Pick<CallStreams, "isDraining"> | undefined;
}

export interface CaptureOnceOptions {
  readonly ledger: Pick<Ledger, "begin">;
  /** clock returns milliseconds since 1970. */
  readonly clock: () => number;
  /** Called with errors that no caller waits for. */
  readonly onError: (error: unknown) => void;
}

/** captureOnce runs a call to its answer, and captures it. Throws what `work` throws, once that is captured: now or later. */
export function captureOnce<A extends Answer>(
  captured: CapturedCall,
  charge: ChargeCall,
  work: () => MaybePromise<A>,
  options: CaptureOnceOptions,
): MaybePromise<A> {
  const capture = new Capture(captured, charge, options);
  const { signal } = captured.call;
  return thenOrCatch(
    work,
    (answer) => {
      if (answer.kind === "whole") return sentWhenCaptured(answer, capture, signal.aborted);
      // Frames that are never read have no end of their own.
      signal.addEventListener("abort", () => void capture.endUnread(), { once: true });
      return { ...answer, frames: capturedFrames(answer.frames, captured, capture), trailers: () => capture.headers };
    },
    (error) =>
      andThen(endFailed(error, captured, capture, false), (): never => {
        throw withCost(error, captured, capture);
      }),
  );
}

/**
 * endFailed captures a call that has failed. A time-out of the caller's own counts as disconnecting. `hasBegun` is whether frames have
 * come: what the upstream rejects even then is the caller's fault, and no failure of the upstream.
 */
function endFailed(error: unknown, captured: CapturedCall, capture: Capture, hasBegun: boolean): MaybePromise<void> {
  if (captured.call.signal.aborted || !countsForHealth(error)) return endLeft(captured, capture);
  if (isRejection(error)) return capture.end(Outcome.REJECTED);
  return capture.end(hasBegun ? Outcome.BROKEN : Outcome.FAILED);
}

/**
 * Captures a call whose caller has disconnected. While the call is drained, the answer's own end does not wait for the capture;
 * the observers of the call do.
 */
function endLeft({ call, streams }: CapturedCall, capture: Capture): MaybePromise<void> {
  const ending = capture.end(Outcome.LEFT);
  if (!streams?.isDraining()) return ending;
  call.record.pendingCapture = ending;
  return undefined;
}

function sentWhenCaptured<A extends Answer>(answer: A, capture: Capture, hasLeft: boolean): MaybePromise<A> {
  if (!hasLeft) capture.noteFirstByte();
  return capture.end(hasLeft ? Outcome.LEFT : Outcome.ANSWERED).then(() => {
    return { ...answer, headers: { ...answer.headers, ...capture.headers } };
  });
}

/** The capture of one call. It is a class because thousands of streams have one each, for as long as they last. */
class Capture {
  readonly #captured: CapturedCall;
  readonly #charge: ChargeCall;
  readonly #options: CaptureOnceOptions;
  readonly #done: () => void;
  #firstByteAt: number | undefined;
  #ending: Deferred<void> | undefined;
  /** The headers that report the cost; empty until the call is captured. */
  headers: AnswerHeaders = {};

  constructor(captured: CapturedCall, charge: ChargeCall, options: CaptureOnceOptions) {
    this.#captured = captured;
    this.#charge = charge;
    this.#options = options;
    this.#done = options.ledger.begin();
  }

  noteFirstByte(): void {
    if (this.#firstByteAt !== undefined) return;
    const { call, arrivedAt } = this.#captured;
    this.#firstByteAt = this.#options.clock();
    call.record.firstByteMs = Math.max(0, this.#firstByteAt - arrivedAt);
  }

  /** Ends a call whose caller disconnected before the first byte was read. */
  async endUnread(): Promise<void> {
    if (this.#firstByteAt !== undefined) return;
    try {
      await this.end(Outcome.LEFT);
    } catch (error) {
      this.#options.onError(error);
    }
  }

  /** Captures the call. Later calls get the result of the first; it rejects for all of them where the capture fails. */
  end(outcome: Outcome): Deferred<void> {
    if (this.#ending) return this.#ending;
    const begin = new Deferred<Outcome>();
    this.#ending = begin.then((how) => this.#capture(how));
    begin.resolve(outcome);
    return this.#ending;
  }

  #capture(outcome: Outcome): MaybePromise<void> {
    return thenOrCatch(
      () => this.#charge(outcome, this.#options.clock(), this.#firstByteAt),
      (headers) => {
        this.headers = headers;
        this.#done();
      },
      (error): never => {
        this.#done();
        throw error;
      },
    );
  }
}

/** Captures the call, and then has its last batch taken. */
async function captureBefore(capture: Capture, take: () => Promise<void> | undefined): Promise<void> {
  await capture.end(Outcome.ANSWERED);
  await take();
}

function capturedFrames(frames: Frames, captured: CapturedCall, capture: Capture): Frames {
  const { call, meter } = captured;
  const { signal } = call;
  return pushStream((take) => {
    let hasBegun = false;
    const taken = forEach(frames, (batch) => {
      hasBegun = true;
      // A caller that has disconnected does not get this batch.
      if (signal.aborted) return take(batch);
      capture.noteFirstByte();
      return meter.isOver() ? captureBefore(capture, () => take(batch)) : take(batch);
    });
    return taken.then(
      () => {
        if (signal.aborted) return endLeft(captured, capture);
        capture.noteFirstByte();
        return capture.end(Outcome.ANSWERED);
      },
      async (error: unknown) => {
        await (error === stopPulling ? endLeft(captured, capture) : endFailed(error, captured, capture, hasBegun));
        throw withCost(error, captured, capture);
      },
    );
  });
}

/** withCost returns the error of a call, with the headers that report its cost: one that failed may have cost something. */
function withCost(error: unknown, { call }: CapturedCall, { headers }: Capture): unknown {
  const { cost = 0 } = call.record;
  return cost > 0 && error instanceof Refusal ? error.with({ headers }) : error;
}
