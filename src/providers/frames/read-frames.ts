/**
 * Reads the frames of an upstream's stream in its dialect, and reports them to the meter.
 *
 * Small reads are handed on at once. Large reads, and frames that are long, are read in time slices, one stream step
 * at a time, so that no stream takes more of the process than others. What is held of long frames, until they are complete and their
 * reader has taken them, is counted against the memory for answers.
 */
import type { DescMessage } from "@bufbuild/protobuf";
import type { AnswerRoom, Frames } from "../../call/call.ts";
import { brokenOff } from "../../call/refusals.ts";
import { nextSlice, tryTakeSlice } from "../../runtime/cooperative.ts";
import { andThen } from "../../runtime/maybe-promise.ts";
import { failAfter, forEach, pushStream, stopPulling, type Take } from "../../runtime/push-stream.ts";
import { longJson } from "../../wire/json.ts";
import { isObjectLines, type SseFrame, SseReader } from "../../wire/sse.ts";
import type { Wire } from "../../wire/wire.ts";
import type { Attempt } from "../contract.ts";
import type { Dialect } from "../dialect.ts";
import { asFailure, faultOf, readOrFail } from "../errors/fault.ts";
import type { Body, UpstreamReply } from "../upstream/reply.ts";
import { createLinger, createSilenceWatch, type Linger, type SilenceWatch } from "./lingering.ts";
import { detectJsonBody, framesOfAnswer, type JsonBody } from "./other-form.ts";
import { plainFrames } from "./plain-frames.ts";
import { type TrackedStream, takeFrames, wireOf } from "./take-frames.ts";

/** Reads of more bytes than this are read in time slices. Each chunk counts for more than its bytes. */
const largeReadBytes = 16_384;
const bytesOfPiece = 64;
/** Bytes read in a time slice. A chunk is not cut, because its frames would have to be copied. */
const bytesPerSlice = 65_536;
/** Frames handed over in a time slice. */
const framesPerSlice = 512;

/** readFrames returns the frames of a body. `source` is left when the end of a complete stream has been waited for long enough. */
export function readFrames<O extends DescMessage>(
  body: UpstreamReply["body"],
  desc: O,
  dialect: Dialect,
  attempt: Attempt,
  source?: Body,
): Frames<O> {
  // The attempt is not kept: a stream outlives its use.
  const tracker = dialect.track(attempt);
  const { meter, operation, room } = attempt;
  const of = { desc, dialect, tracker, meter, operation };
  return pushStream((take) => new FrameReading(take, of, room?.openAnswer(), source).run(body));
}

/** FrameReading is one reading of a stream. */
class FrameReading<O extends DescMessage> {
  readonly #take: Take<readonly Wire<O>[]>;
  readonly #of: TrackedStream<O>;
  readonly #reader = new SseReader();
  readonly #life: SilenceWatch;
  readonly #linger: Linger;
  readonly #room: AnswerRoom | undefined;
  /** Set when JSON comes instead of events. */
  #whole: JsonBody | undefined;
  /** isLeft is whether the reading ended by its content or by its taker, not by the upstream. */
  #isLeft = false;
  /** isOver is whether the reading ended well by its content. */
  #isOver = false;

  constructor(
    take: Take<readonly Wire<O>[]>,
    of: TrackedStream<O>,
    room: AnswerRoom | undefined,
    source: Body | undefined,
  ) {
    this.#take = take;
    this.#of = of;
    this.#room = room;
    this.#life = createSilenceWatch(this.#reader, source);
    this.#linger = createLinger(of.tracker, source);
  }

  run(body: UpstreamReply["body"]): Promise<void> {
    const read = forEach(body, this.#takeChunks).then(() => this.#takeRest());
    return read.then(
      () => (this.#whole?.isJson ? this.#endWhole(this.#whole.bytes()) : this.#end()),
      (error: unknown) => this.#ended(error),
    );
  }

  readonly #takeChunks: Take<readonly Buffer[]> = (chunks) => {
    this.#whole ??= detectJsonBody(chunks);
    if (this.#whole?.isJson) return this.#room?.hold(this.#whole.add(chunks));
    this.#linger.stop();
    const waiting = this.#room?.hold(this.#reader.heldBytes + bytesOf(chunks));
    return waiting ? waiting.then(() => this.#readHeld(chunks)) : this.#readHeld(chunks);
  };

  /** #readHeld reads bytes that are counted, and counts what is left of them once the reader has taken what they complete. */
  #readHeld(chunks: readonly Buffer[]): Promise<void> | undefined {
    const taken = isLarge(chunks)
      ? inTurns(chunks, this.#readIn, this.#handOverAny)
      : this.#handOverAny(this.#readIn(chunks));
    const counted = andThen(taken, () => void this.#room?.tryHold(this.#reader.heldBytes));
    return this.#linger.begin(counted as typeof taken);
  }

  readonly #readIn = (chunks: readonly Buffer[]) => {
    const frames = framesIn(chunks, this.#reader);
    const plain = plainFrames(frames);
    this.#life.note(plain.length > 0 || frames.length === 0);
    return plain;
  };

  readonly #handOverAny = (frames: readonly SseFrame[]) =>
    frames.some(isLong) ? oneByOne(frames, this.#of.desc, this.#handOver) : this.#handOver(frames);

  readonly #handOver = (frames: readonly SseFrame[], read?: Wire<O>): Promise<void> | undefined => {
    const { tracker, meter, desc } = this.#of;
    const wasWaiting = tracker.isWaiting?.() ?? false;
    const batch: Wire<O>[] = [];
    const failure = takeFrames(frames, read, batch, this.#of);
    const isOver = failure === stopPulling || (failure === undefined && tracker.isOver());
    if (isOver) {
      this.#isOver = true;
      if (wasWaiting && batch.length === 0) {
        this.#isLeft = true;
        return failAfter(this.#tellLast(), stopPulling);
      }
      batch.push(...(tracker.closingFrames?.(desc) ?? []));
      meter.reportEnd();
    } else if (failure !== undefined) batch.push(...(tracker.heldFrames?.(desc) ?? []));
    const taken = batch.length > 0 ? this.#tell(batch) : undefined;
    if (failure === undefined && !isOver) return taken;
    this.#isLeft = true;
    // Frames before a failure still reach the caller.
    return failAfter(taken, failure ?? stopPulling);
  };

  #takeRest(): Promise<void> | undefined {
    return this.#whole?.isJson ? undefined : this.#handOverAny(plainFrames(this.#reader.end()));
  }

  #end(): Promise<void> {
    return this.#of.tracker.isComplete() ? this.#tellLast() : this.#fail(brokenOff());
  }

  /** #tellLast hands over what has waited since an earlier read, reports the end, which came behind that, and hands over what lacks. */
  async #tellLast(): Promise<void> {
    const { tracker, meter, desc } = this.#of;
    const waiting = tracker.waitingFrames?.(desc) ?? [];
    if (waiting.length > 0) await this.#take(waiting);
    meter.reportEnd();
    const last = tracker.closingFrames?.(desc) ?? [];
    if (last.length > 0) await this.#take(last);
  }

  /** Hands over a batch. The taker may leave. */
  #tell(batch: readonly Wire<O>[]): Promise<void> | undefined {
    try {
      return this.#take(batch)?.catch(this.#leave);
    } catch (error) {
      return this.#leave(error);
    }
  }

  readonly #leave = (error: unknown): never => {
    this.#isLeft = true;
    throw error;
  };

  #endWhole(bytes: Buffer): Promise<void> {
    if (isObjectLines(bytes)) return this.#endLines(bytes);
    return framesOfAnswer(bytes, this.#of).then(this.#take);
  }

  /** #endLines reads a stream of JSON objects, one a line. */
  async #endLines(bytes: Buffer): Promise<void> {
    try {
      await inTurns([bytes], this.#readIn, this.#handOverAny);
      await this.#handOverAny(plainFrames(this.#reader.end()));
    } catch (error) {
      return this.#ended(error);
    }
    return this.#end();
  }

  #ended(error: unknown): Promise<void> | undefined {
    this.#linger.stop();
    if (this.#isLeft) {
      if (error === stopPulling && this.#isOver) return undefined;
      throw error;
    }
    // A failure after a complete answer does not harm the answer.
    const { tracker } = this.#of;
    const isBehind = tracker.isComplete() && !tracker.mayGoOn?.() && faultOf(error) !== undefined;
    if (isBehind || (error === stopPulling && this.#linger.isOver())) return this.#end();
    return this.#fail(error);
  }

  /** #fail rejects with an error, once the frames that wait are taken. */
  #fail(error: unknown): Promise<never> {
    this.#room?.release();
    const { tracker, desc } = this.#of;
    const held = tracker.heldFrames?.(desc) ?? [];
    return failAfter(held.length > 0 ? this.#take(held) : undefined, error);
  }
}

type HandOver<O extends DescMessage> = (frames: readonly SseFrame[], read?: Wire<O>) => Promise<void> | undefined;

function isLarge(chunks: readonly Buffer[]): boolean {
  return chunks.length * bytesOfPiece + bytesOf(chunks) > largeReadBytes;
}

function bytesOf(chunks: readonly Buffer[]): number {
  let bytes = 0;
  for (const { length } of chunks) bytes += length;
  return bytes;
}

/** inTurns reads part after part, each in a time slice of its own. */
async function inTurns(
  chunks: readonly Buffer[],
  readIn: (chunks: readonly Buffer[]) => readonly SseFrame[],
  handOver: (frames: readonly SseFrame[]) => Promise<void> | undefined,
): Promise<void> {
  let isFirst = tryTakeSlice();
  for (const part of partsOf(chunks)) {
    if (!isFirst) await nextSlice();
    isFirst = false;
    const frames = readIn(part);
    for (let at = 0; at < frames.length; at += framesPerSlice) {
      if (at > 0) await nextSlice();
      await handOver(frames.slice(at, at + framesPerSlice));
    }
  }
}

/** Groups chunks into the parts of one time slice. */
function* partsOf(chunks: readonly Buffer[]): Generator<readonly Buffer[]> {
  let part: Buffer[] = [];
  let bytes = 0;
  for (const chunk of chunks) {
    bytes += chunk.length + bytesOfPiece;
    if (part.length > 0 && bytes > bytesPerSlice) {
      yield part;
      part = [];
      bytes = chunk.length;
    }
    part.push(chunk);
  }
  yield part;
}

function isLong({ data }: SseFrame): boolean {
  return data.length >= longJson;
}

/** oneByOne reads long frames in time slices and hands over frames one by one. */
async function oneByOne<O extends DescMessage>(
  frames: readonly SseFrame[],
  desc: O,
  handOver: HandOver<O>,
): Promise<void> {
  for (const frame of frames) {
    const read = isLong(frame) ? wireOf(frame, desc) : undefined;
    try {
      await read?.parseInSlices();
    } catch (error) {
      throw asFailure(error);
    }
    await handOver([frame], read);
  }
}

/** framesIn returns the frames that a read has completed. */
function framesIn(chunks: readonly Buffer[], reader: SseReader): readonly SseFrame[] {
  return readOrFail(() =>
    chunks.length === 1 ? reader.push(chunks[0] as Buffer) : chunks.flatMap((chunk) => reader.push(chunk)),
  );
}
