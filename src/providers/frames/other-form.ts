/**
 * Converts answers that came in another form than requested: a unary answer into frames, and a stream into a unary
 * answer. The upstream has billed them, and would answer the same way again.
 */
import type { DescMessage } from "@bufbuild/protobuf";
import type { AnswerRoom, Frames } from "../../call/call.ts";
import { upstreamFailed } from "../../call/refusals.ts";
import { forEach } from "../../runtime/push-stream.ts";
import { longJson } from "../../wire/json.ts";
import { Wire } from "../../wire/wire.ts";
import type { Accumulator } from "../dialect.ts";
import { asFailure, readOrFail } from "../errors/fault.ts";
import { maxAnswerBytes, sniffForm, withoutMark } from "./answer-form.ts";
import { done } from "./done.ts";
import { readAnswer } from "./read-answer.ts";
import { pushSeen, type TrackedStream } from "./take-frames.ts";

/** single yields one item. */
export async function* single<T>(item: T): AsyncGenerator<T, void> {
  yield item;
}

/** JsonBody collects a JSON answer that came where events were expected. */
export interface JsonBody {
  /** isJson is whether the body is one JSON value. */
  readonly isJson: boolean;
  /** Returns how long the body is now, in bytes. Throws a Refusal where it is too large. */
  add(chunks: readonly Buffer[]): number;
  bytes(): Buffer;
}

/** detectJsonBody returns undefined while only white space has come. */
export function detectJsonBody(chunks: readonly Buffer[]): JsonBody | undefined {
  const form = chunks.map(sniffForm).find(Boolean);
  if (form === undefined) return undefined;
  if (form !== "json") return events;
  const pieces: Buffer[] = [];
  let length = 0;
  return {
    isJson: true,
    add(more) {
      for (const piece of more) length += piece.length;
      if (length > maxAnswerBytes) throw upstreamFailed("its answer is too large");
      pieces.push(...more);
      return length;
    },
    bytes: () => Buffer.concat(pieces, length),
  };
}

const events: JsonBody = { isJson: false, add: () => 0, bytes: () => Buffer.alloc(0) };

/** framesOfAnswer returns the frames of a stream that says what a unary answer says, its end included. Throws a Refusal. */
export async function framesOfAnswer<O extends DescMessage>(
  bytes: Buffer,
  { desc, dialect, tracker, operation, meter }: TrackedStream<O>,
): Promise<readonly Wire<O>[]> {
  try {
    const answer = Wire.ofBytes(desc, withoutMark(bytes), true);
    await answer.parseInSlices();
    const frames = dialect.framesOf?.(readAnswer(answer, dialect, operation).json, operation);
    if (!frames) throw upstreamFailed("it did not answer with a stream");
    const batch: Wire<O>[] = [];
    for (const json of frames) {
      const frame = Wire.ofJson(desc, json, true);
      if (bytes.length >= longJson) await frame.writeInSlices();
      const seen = tracker.take(frame, json);
      if (seen) pushSeen(batch, seen);
    }
    tracker.isEndMark(done);
    meter.reportEnd();
    return [...batch, ...(tracker.closingFrames?.(desc) ?? [])];
  } catch (error) {
    throw asFailure(error);
  }
}

/** Accumulates a stream. Throws a Refusal where it fails, exceeds `maxBytes`, or finds no memory in `room`. */
export async function accumulate<O extends DescMessage>(
  frames: Frames<O>,
  accumulator: Accumulator,
  desc: O,
  maxBytes: number,
  room: AnswerRoom | undefined,
): Promise<Wire<O>> {
  let bytes = 0;
  await forEach(frames, (batch) => {
    for (const frame of batch) {
      bytes += frame.bytes().length;
      if (bytes > maxBytes) throw upstreamFailed("its answer is too large");
      readOrFail(() => accumulator.add(frame.json()));
    }
    return room?.hold(bytes);
  });
  const answer = Wire.ofJson(
    desc,
    readOrFail(() => accumulator.answer()),
    true,
  );
  return bytes >= longJson ? answer.writeInSlices() : answer;
}
