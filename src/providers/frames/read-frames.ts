/**
 * Reads the frames of an upstream's stream in its dialect, and tells the meter of them.
 *
 * What comes is mostly little, and handed on at once. What is much, and what is one long frame, is read in turns, and nothing
 * else of its stream meanwhile: so a stream takes no more of the process than others, whatever it is made of.
 */
import type { DescMessage } from "@bufbuild/protobuf";
import type { Frames } from "../../call/call.ts";
import { upstreamFailed } from "../../call/refusals.ts";
import { nextSlice, tryTakeSlice } from "../../runtime/cooperative.ts";
import { failAfter, forEach, pushStream, stopPulling, type Take } from "../../runtime/push-stream.ts";
import { longJson } from "../../wire/json.ts";
import { type SseFrame, SseReader } from "../../wire/sse.ts";
import type { Wire } from "../../wire/wire.ts";
import type { Attempt } from "../contract.ts";
import { asFailure, faultOf, understood } from "../errors/fault.ts";
import type { Dialect } from "../upstream/dialect.ts";
import type { Body, UpstreamReply } from "../upstream/reply.ts";
import { createLife, createLinger, type Life, type Linger } from "./lingering.ts";
import { framesOfWhole, type WholeInstead, wholeInstead } from "./other-form.ts";
import { type Followed, takeFrames, wireOf } from "./take-frames.ts";

/** What is more than this is much, in bytes. Each piece that it came in counts for more than its bytes. */
const little = 16_384;
const bytesOfPiece = 64;
/** How much is read in a turn: what a read brings, which is not cut, for its frames would have to be copied. */
const bytesATurn = 65_536;
/** How many frames are handed over in a turn. */
const framesATurn = 512;

/** `source` is what the body is of, where that still comes: it is left when the end of its stream has been waited for long enough. */
export function readFrames<O extends DescMessage>(
  body: UpstreamReply["body"],
  desc: O,
  dialect: Dialect,
  attempt: Attempt,
  source?: Body,
): Frames<O> {
  // Nothing here keeps the attempt: a stream lasts longer than what is known of it is needed.
  const follower = dialect.follow(attempt);
  const { meter, operation } = attempt;
  return pushStream((take) => new FrameReading(take, { desc, dialect, follower, meter, operation }, source).run(body));
}

/** One reading of a stream. */
class FrameReading<O extends DescMessage> {
  readonly #take: Take<readonly Wire<O>[]>;
  readonly #of: Followed<O>;
  readonly #reader = new SseReader();
  readonly #life: Life;
  readonly #linger: Linger;
  /** What comes instead of events. */
  #whole: WholeInstead | undefined;
  /** Whether it ended by what was read or by whoever takes it, and not by its upstream. */
  #isLeft = false;
  /** Whether it ended well by what was read. */
  #isOver = false;

  constructor(take: Take<readonly Wire<O>[]>, of: Followed<O>, source?: Body) {
    this.#take = take;
    this.#of = of;
    this.#life = createLife(this.#reader, source);
    this.#linger = createLinger(of.follower, source);
  }

  run(body: UpstreamReply["body"]): Promise<void> {
    const read = forEach(body, this.#takeChunks).then(() => this.#takeRest());
    return read.then(
      () => (this.#whole?.isSo ? this.#endWhole(this.#whole.bytes()) : this.#end()),
      (error: unknown) => this.#ended(error),
    );
  }

  readonly #takeChunks: Take<readonly Buffer[]> = (chunks) => {
    this.#whole ??= wholeInstead(chunks);
    if (this.#whole?.isSo) return this.#whole.add(chunks);
    this.#linger.stop();
    const taken = isMuch(chunks)
      ? inTurns(chunks, this.#readIn, this.#handOverAny)
      : this.#handOverAny(this.#readIn(chunks));
    return this.#linger.begin(taken);
  };

  readonly #readIn = (chunks: readonly Buffer[]) => this.#life.seen(framesIn(chunks, this.#reader));

  readonly #handOverAny = (frames: readonly SseFrame[]) =>
    frames.some(isLong) ? oneByOne(frames, this.#of.desc, this.#handOver) : this.#handOver(frames);

  readonly #handOver = (frames: readonly SseFrame[], read?: Wire<O>): Promise<void> | undefined => {
    const { follower, meter, desc } = this.#of;
    const batch: Wire<O>[] = [];
    const failure = takeFrames(frames, read, batch, this.#of);
    const isOver = failure === stopPulling || (failure === undefined && follower.isOver());
    if (isOver) {
      this.#isOver = true;
      batch.push(...(follower.last?.(desc) ?? []));
      meter.ended();
    }
    const taken = batch.length > 0 ? this.#tell(batch) : undefined;
    if (failure === undefined && !isOver) return taken;
    this.#isLeft = true;
    // What came before a failure is the caller's.
    return failAfter(taken, failure ?? stopPulling);
  };

  #takeRest(): Promise<void> | undefined {
    return this.#whole?.isSo ? undefined : this.#handOverAny(this.#reader.end());
  }

  #end(): Promise<void> | undefined {
    const { follower, meter, desc } = this.#of;
    if (!follower.isComplete()) throw upstreamFailed("it broke off its answer");
    meter.ended();
    const last = follower.last?.(desc) ?? [];
    return last.length > 0 ? this.#take(last) : undefined;
  }

  /** Whoever takes may leave. */
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
    return framesOfWhole(bytes, this.#of).then(this.#take);
  }

  #ended(error: unknown): Promise<void> | undefined {
    this.#linger.stop();
    if (this.#isLeft) {
      if (error === stopPulling && this.#isOver) return undefined;
      throw error;
    }
    // What breaks behind a complete answer takes nothing from it.
    const isBehind = this.#of.follower.isComplete() && faultOf(error) !== undefined;
    if (isBehind || (error === stopPulling && this.#linger.isOver())) return this.#end();
    throw error;
  }
}

type HandOver<O extends DescMessage> = (frames: readonly SseFrame[], read?: Wire<O>) => Promise<void> | undefined;

function isMuch(chunks: readonly Buffer[]): boolean {
  let bytes = chunks.length * bytesOfPiece;
  for (const { length } of chunks) bytes += length;
  return bytes > little;
}

/** Reads part after part, each in a turn of its own. */
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
    for (let at = 0; at < frames.length; at += framesATurn) {
      if (at > 0) await nextSlice();
      await handOver(frames.slice(at, at + framesATurn));
    }
  }
}

/** Yields chunks that are read in a turn. */
function* partsOf(chunks: readonly Buffer[]): Generator<readonly Buffer[]> {
  let part: Buffer[] = [];
  let bytes = 0;
  for (const chunk of chunks) {
    bytes += chunk.length + bytesOfPiece;
    if (part.length > 0 && bytes > bytesATurn) {
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

/** Reads those that are long in turns, and hands over one after another. */
async function oneByOne<O extends DescMessage>(
  frames: readonly SseFrame[],
  desc: O,
  handOver: HandOver<O>,
): Promise<void> {
  for (const frame of frames) {
    const read = isLong(frame) ? wireOf(frame, desc) : undefined;
    try {
      await read?.prepared();
    } catch (error) {
      throw asFailure(error);
    }
    await handOver([frame], read);
  }
}

/** Returns the frames that a read has completed. */
function framesIn(chunks: readonly Buffer[], reader: SseReader): readonly SseFrame[] {
  return understood(() =>
    chunks.length === 1 ? reader.push(chunks[0] as Buffer) : chunks.flatMap((chunk) => reader.push(chunk)),
  );
}
