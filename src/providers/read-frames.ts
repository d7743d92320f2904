/**
 * Reads the frames of an upstream's stream in its dialect, and tells the meter of them.
 *
 * What comes is mostly little, and handed on at once. What is much, and what is one long frame, is read in turns, and nothing
 * else of its stream meanwhile: so a stream takes no more of the process than others, whatever it is made of.
 */
import type { DescMessage } from "@bufbuild/protobuf";
import type { Frames } from "../call.ts";
import { type Refusal, upstreamFailed } from "../errors.ts";
import { each, failAfter, flow, noMore, type Take } from "../flow.ts";
import { longJson } from "../wire/json.ts";
import { type SseFrame, SseReader } from "../wire/sse.ts";
import { Wire } from "../wire/wire.ts";
import { mayGoFirst, nextTurn } from "../work.ts";
import type { Dialect, Follower } from "./dialect.ts";
import { asFailure, understood } from "./fault.ts";
import { createLife, createLinger } from "./lingering.ts";
import type { Operation } from "./operations.ts";
import { framesOfWhole, type WholeInstead, wholeInstead } from "./other-form.ts";
import type { Attempt } from "./provider.ts";
import { readJson } from "./read-json.ts";
import type { UpstreamReply } from "./upstream-reply.ts";

/** What is more than this is much, in bytes. Each piece that it came in counts for more than its bytes. */
const little = 16_384;
const bytesOfPiece = 64;
/** How much is read in a turn: what a read brings, which is not cut, for its frames would have to be copied. */
const bytesATurn = 65_536;
/** How many frames are handed over in a turn. */
const framesATurn = 512;

/** `reply` is what the body is of, where that still comes: it is left when the end of its stream has been waited for long enough. */
export function readFrames<O extends DescMessage>(
  body: UpstreamReply["body"],
  desc: O,
  dialect: Dialect,
  attempt: Attempt,
  reply?: Pick<UpstreamReply, "leave" | "lifeless">,
): Frames<O> {
  // Nothing here keeps the attempt: a stream lasts longer than what is known of it is needed.
  const follower = dialect.follow(attempt);
  const { meter, operation } = attempt;
  return flow((take) => {
    const reader = new SseReader();
    const life = createLife(reader, reply);
    const linger = createLinger(follower, reply);
    let whole: WholeInstead | undefined;
    const handOver = (frames: readonly SseFrame[], read?: Wire<O>) => {
      const batch: Wire<O>[] = [];
      let failure = takeFrames(frames, read, batch, desc, dialect, follower, operation);
      const isOver = follower.isOver();
      if (isOver && !follower.isComplete()) failure ??= upstreamFailed("its answer is empty");
      if (isOver && !failure) batch.push(...(follower.last?.(desc) ?? []));
      if (isOver) meter.ended();
      const taken = batch.length > 0 ? take(batch) : undefined;
      // What came before a failure is the caller's.
      return failure || isOver ? failAfter(taken, failure ?? noMore) : taken;
    };
    const handOverAny = (frames: readonly SseFrame[]) =>
      frames.some(isLong) ? oneByOne(frames, desc, handOver) : handOver(frames);
    const readIn = (chunks: readonly Buffer[]) => life.seen(framesIn(chunks, reader));
    const takeChunks: Take<readonly Buffer[]> = (chunks) => {
      whole ??= wholeInstead(chunks);
      if (whole?.isSo) return whole.add(chunks);
      linger.stop();
      return linger.begin(isMuch(chunks) ? inTurns(chunks, readIn, handOverAny) : handOverAny(readIn(chunks)));
    };
    const end = (): Promise<void> | undefined => {
      if (!follower.isComplete()) throw upstreamFailed("it broke off its answer");
      meter.ended();
      const last = follower.last?.(desc) ?? [];
      return last.length > 0 ? take(last) : undefined;
    };
    const endWhole = (bytes: Buffer) => framesOfWhole(bytes, desc, dialect, follower, { operation, meter }).then(take);
    const read = each(body, takeChunks).then(() => (whole?.isSo ? undefined : handOverAny(reader.end())));
    return read.then(
      () => (whole?.isSo ? endWhole(whole.bytes()) : end()),
      (error: unknown) => {
        linger.stop();
        if (error === noMore && linger.isOver()) return end();
        if (error !== noMore || !follower.isOver()) throw error;
        return undefined;
      },
    );
  });
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
  let isFirst = mayGoFirst();
  for (const part of partsOf(chunks)) {
    if (!isFirst) await nextTurn();
    isFirst = false;
    const frames = readIn(part);
    for (let at = 0; at < frames.length; at += framesATurn) {
      if (at > 0) await nextTurn();
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

function wireOf<O extends DescMessage>({ data, whole }: SseFrame, desc: O): Wire<O> {
  return whole ? Wire.ofFrame(desc, whole, data) : Wire.ofBytes(desc, data, true);
}

/** Returns the frames that a read has completed. */
function framesIn(chunks: readonly Buffer[], reader: SseReader): readonly SseFrame[] {
  return understood(() =>
    chunks.length === 1 ? reader.push(chunks[0] as Buffer) : chunks.flatMap((chunk) => reader.push(chunk)),
  );
}

/**
 * Takes frames up to the one that ends the stream or fails, and puts what the caller sees into the batch. `read` is the only
 * one, where it has been read. Returns the failure.
 */
function takeFrames<O extends DescMessage>(
  frames: readonly SseFrame[],
  read: Wire<O> | undefined,
  batch: Wire<O>[],
  desc: O,
  dialect: Dialect,
  follower: Follower,
  operation: Operation,
): Refusal | undefined {
  for (const sent of frames) {
    try {
      if (follower.isEnd(sent.data)) return undefined;
      const frame = read ?? wireOf(sent, desc);
      if (sent.event === "error") return namedError(frame, dialect, operation);
      const skimmed = read ? undefined : follower.skim?.(frame);
      const seen = skimmed ?? follower.take(frame, readJson(frame, dialect, operation, "frame"));
      if (seen) batch.push(seen);
      if (follower.isOver()) return undefined;
    } catch (error) {
      return asFailure(error);
    }
  }
  return undefined;
}

/** What an event of this name says is an error, whatever it is, or is no JSON. */
function namedError(frame: Wire, dialect: Dialect, operation: Operation): Refusal {
  try {
    readJson(frame, dialect, operation, "error");
  } catch (error) {
    const refusal = asFailure(error);
    if (refusal.cause instanceof Error) return upstreamFailed("it answered with an error");
    return refusal;
  }
  return upstreamFailed("it answered with an error");
}
