/** Passes the frames of a stream to its tracker, up to the frame that ends the stream or fails. */
import type { DescMessage, JsonObject } from "@bufbuild/protobuf";
import type { Operation } from "../../call/operations.ts";
import { brokenOff, Refusal, upstreamFailed } from "../../call/refusals.ts";
import { stopPulling } from "../../runtime/push-stream.ts";
import { isObject, parsedJson } from "../../wire/json.ts";
import type { SseFrame } from "../../wire/sse.ts";
import { Wire } from "../../wire/wire.ts";
import type { Meter } from "../contract.ts";
import type { Dialect, StreamTracker } from "../dialect.ts";
import { exceptionIn, isExceptionName, readErrorBody } from "../errors/error-fields.ts";
import { asFailure, readOrFail } from "../errors/fault.ts";
import { separateFrames } from "./plain-frames.ts";
import { readJson } from "./read-json.ts";
import { listedFrames, outOfEnvelope } from "./wrapped-frames.ts";

/** TrackedStream is a stream with its tracker. */
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
 * takeFrames adds what the caller sees to the batch. `read` is the only frame, where it has been read already. Returns the failure of the
 * stream, or `stopPulling` where something unreadable follows a complete answer.
 */
export function takeFrames<O extends DescMessage>(
  frames: readonly SseFrame[],
  read: Wire<O> | undefined,
  batch: Wire<O>[],
  stream: TrackedStream<O>,
): Error | undefined {
  const { tracker } = stream;
  try {
    for (const sent of frames) {
      if (takeEach(sent, read, batch, stream)) break;
    }
    return tracker.isOver() && !tracker.isComplete() ? upstreamFailed("its answer is empty") : undefined;
  } catch (error) {
    const failure = asFailure(error);
    return tracker.isComplete() && !tracker.mayGoOn?.() && isUnreadable(failure) ? stopPulling : failure;
  }
}

/** takeEach takes a frame, or each of the objects that a server or a proxy has put into one. Returns true where it ends the stream. */
function takeEach<O extends DescMessage>(
  sent: SseFrame,
  read: Wire<O> | undefined,
  batch: Wire<O>[],
  stream: TrackedStream<O>,
): boolean {
  const listed = listedFrames(sent);
  if (listed) return listed.some((part) => takeFrame(part, undefined, batch, stream));
  try {
    return takeFrame(sent, read, batch, stream);
  } catch (error) {
    const failure = asFailure(error);
    const parts = isUnreadable(failure) ? separateFrames(sent) : undefined;
    if (!parts) throw failure;
    return parts.some((part) => takeFrame(part, undefined, batch, stream));
  }
}

/** takeFrame returns true where the frame ends the stream. */
function takeFrame<O extends DescMessage>(
  sent: SseFrame,
  read: Wire<O> | undefined,
  batch: Wire<O>[],
  { desc, dialect, tracker, operation }: TrackedStream<O>,
): boolean {
  if (tracker.isEndMark(sent.data)) {
    if (tracker.isCut?.()) throw brokenOff();
    return true;
  }
  const untyped = read ?? wireOf(sent, desc);
  if (sent.event === "error" || isExceptionName(sent.event))
    throw namedError(untyped, sent.event, dialect, operation, tracker);
  const named = (frame: Wire<O>) => (dialect.namesEvents ? typed(frame, sent.event) : frame);
  const whole = named(untyped);
  const skimmed = read ? undefined : tracker.takeUnparsed?.(whole);
  const inner = skimmed ? undefined : innerOf(untyped, sent.data);
  const frame = inner ? named(inner) : whole;
  const seen = skimmed ?? tracker.take(frame, readJson(frame, dialect, operation, "frame", tracker.takeFault));
  if (seen) pushSeen(batch, seen);
  return tracker.isOver();
}

const openBrace = 0x7b;

/** innerOf returns the chunk that stands in a frame's object; undefined where the frame is a chunk itself. */
function innerOf<O extends DescMessage>(frame: Wire<O>, data: Buffer): Wire<O> | undefined {
  if (data[0] !== openBrace) return undefined;
  return outOfEnvelope(
    frame,
    readOrFail(() => frame.json()),
  );
}

/** pushSeen adds what a caller sees of a frame to a batch. */
export function pushSeen<O extends DescMessage>(batch: Wire<O>[], seen: Wire<O> | readonly Wire<O>[]): void {
  if (seen instanceof Wire) batch.push(seen);
  else batch.push(...seen);
}

/** typed returns a frame with its event's name as its type, where it has none. */
function typed<O extends DescMessage>(frame: Wire<O>, name: string | undefined): Wire<O> {
  if (name === undefined || name === "message") return frame;
  const json = readOrFail(() => frame.json());
  return isObject(json) && json.type === undefined ? frame.with({ type: name }) : frame;
}

/**
 * namedError returns the refusal for an event named `error`, or by an exception, whatever its data: what is no JSON may be the error's
 * words.
 */
function namedError(
  frame: Wire,
  name: string,
  dialect: Dialect,
  operation: Operation,
  tracker: StreamTracker,
): Refusal {
  const told = readOrUndefined(frame);
  try {
    if (name === "error" || (told && exceptionIn(told)))
      readJson(frame, dialect, operation, "error", tracker.takeFault);
  } catch (error) {
    if (error instanceof Refusal && !isUnreadable(error)) return error;
  }
  const message = readErrorBody(Buffer.from(frame.bytes())).message ?? null;
  const worded: JsonObject = name === "error" ? { error: { message } } : { [name]: { message, ...told } };
  const isTold = message !== null;
  const refusal = isTold ? dialect.errorIn(worded, jsonBytes(worded), operation, "error") : undefined;
  return refusal ?? upstreamFailed("it answered with an error");
}

/** readOrUndefined returns the JSON of a frame; undefined where it has none. */
function readOrUndefined(frame: Wire): JsonObject | undefined {
  const json = parsedJson(Buffer.from(frame.bytes()).toString());
  return isObject(json) ? json : undefined;
}

function jsonBytes(json: JsonObject): Buffer {
  return Buffer.from(JSON.stringify(json));
}

/** isUnreadable reports whether a refusal stands for bytes that could not be read: its cause is then an Error. */
function isUnreadable({ cause }: Refusal): boolean {
  return cause instanceof Error;
}
