/** Reads the frames of a stream as its follower takes them, up to the one that ends it or fails. */
import type { DescMessage } from "@bufbuild/protobuf";
import type { Operation } from "../../call/operations.ts";
import { Refusal, upstreamFailed } from "../../call/refusals.ts";
import { stopPulling } from "../../runtime/push-stream.ts";
import type { SseFrame } from "../../wire/sse.ts";
import { Wire } from "../../wire/wire.ts";
import type { Meter } from "../contract.ts";
import type { Dialect, StreamTracker } from "../dialect.ts";
import { asFailure } from "../errors/fault.ts";
import { readJson } from "./read-json.ts";

/** A stream, and who follows it. */
export interface TrackedStream<O extends DescMessage> {
  readonly desc: O;
  readonly dialect: Dialect;
  readonly tracker: StreamTracker;
  readonly meter: Meter;
  readonly operation: Operation;
}

export function wireOf<O extends DescMessage>({ data, raw }: SseFrame, desc: O): Wire<O> {
  return raw ? Wire.ofFrame(desc, raw, data) : Wire.ofBytes(desc, data, true);
}

/**
 * Puts what the caller sees into the batch. `read` is the only frame, where it has been read. Returns what the stream fails by,
 * and `noMore` where it ends by what cannot be read behind a complete answer.
 */
export function takeFrames<O extends DescMessage>(
  frames: readonly SseFrame[],
  read: Wire<O> | undefined,
  batch: Wire<O>[],
  of: TrackedStream<O>,
): Error | undefined {
  const { tracker } = of;
  try {
    for (const sent of frames) {
      if (takeFrame(sent, read, batch, of)) break;
    }
    return tracker.isOver() && !tracker.isComplete() ? upstreamFailed("its answer is empty") : undefined;
  } catch (error) {
    const failure = asFailure(error);
    return tracker.isComplete() && isUnreadable(failure) ? stopPulling : failure;
  }
}

/** Returns whether it ends the stream. */
function takeFrame<O extends DescMessage>(
  sent: SseFrame,
  read: Wire<O> | undefined,
  batch: Wire<O>[],
  { desc, dialect, tracker, operation }: TrackedStream<O>,
): boolean {
  if (tracker.isEndMark(sent.data)) return true;
  const frame = read ?? wireOf(sent, desc);
  if (sent.event === "error") throw namedError(frame, dialect, operation);
  const skimmed = read ? undefined : tracker.takeUnparsed?.(frame);
  const seen = skimmed ?? tracker.take(frame, readJson(frame, dialect, operation, "frame"));
  if (seen) batch.push(seen);
  return tracker.isOver();
}

/** What an event of this name says is an error, whatever it is, or is no JSON. */
function namedError(frame: Wire, dialect: Dialect, operation: Operation): Refusal {
  try {
    readJson(frame, dialect, operation, "error");
  } catch (error) {
    if (error instanceof Refusal && !isUnreadable(error)) return error;
  }
  return upstreamFailed("it answered with an error");
}

/** Whether nothing was understood, which has a cause other than the upstream's words. */
function isUnreadable({ cause }: Refusal): boolean {
  return cause instanceof Error;
}
