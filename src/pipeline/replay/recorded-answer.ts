/**
 * Records answers while they are sent, to send them again in the same batches and the same bytes.
 *
 * A recorded answer is one buffer: the frames of a stream as objects would take several times their bytes, and the size of one
 * buffer is known exactly.
 */
import type { DescMessage } from "@bufbuild/protobuf";
import type { Frames } from "../../call/call.ts";
import { decode, type EncodedAnswer, encode } from "../../wire/encoded.ts";
import type { Wire } from "../../wire/wire.ts";

/** RecordedAnswer is the frames of an answer, each with a head that says its kind, length, and whether it ends a batch. */
export type RecordedAnswer = Buffer;

export interface Recording {
  /** Adds the next batch of the answer. A unary answer is one batch of one message. */
  add(batch: readonly Wire[]): void;
  /** Returns the recorded answer; undefined where it grew too long. */
  answer(): RecordedAnswer | undefined;
  /** Frees the memory of the recording. */
  end(): void;
}

/** Room is the memory that all recordings share. */
export interface Room {
  /** Takes bytes, and reports whether there were as many. */
  take(bytes: number): boolean;
  give(bytes: number): void;
}

export function createRoom(bytes: number): Room {
  let left = bytes;
  return {
    take(count) {
      if (count > left) return false;
      left -= count;
      return true;
    },
    give(back) {
      left += back;
    },
  };
}

const unbounded: Room = { take: () => true, give: () => {} };

/** The head of each frame: its kind in one byte, and its length in four. */
const headBytes = 5;
const jsonBit = 1;
const lastOfBatchBit = 2;
/** The bytes that a frame takes besides its own while it is being recorded. */
const pieceBytes = 256;

/** createRecording begins the record of an answer. One that grows beyond `maxBytes`, or finds no room, is freed at once. */
export function createRecording(maxBytes: number, room = unbounded): Recording {
  let pieces: Buffer[] | undefined = [];
  let size = 0;
  let taken = 0;

  function end(): void {
    pieces = undefined;
    room.give(taken);
    taken = 0;
  }

  function take({ isJson, bytes }: EncodedAnswer, isLast: boolean): void {
    size += headBytes + bytes.length;
    const needed = bytes.length + pieceBytes;
    if (!pieces || size > maxBytes || !room.take(needed)) {
      end();
      return;
    }
    taken += needed;
    const head = Buffer.allocUnsafe(headBytes);
    head[0] = (isJson ? jsonBit : 0) | (isLast ? lastOfBatchBit : 0);
    head.writeUInt32LE(bytes.length, 1);
    pieces.push(head, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length));
  }

  return {
    add(batch) {
      for (let i = 0; pieces && i < batch.length; i++) take(encode(batch[i] as Wire), i === batch.length - 1);
    },
    // Copied out of Node's buffer pool: a slice would keep the whole pool in memory.
    answer: () => pieces && copied(pieces, size),
    end,
  };
}

function copied(pieces: readonly Buffer[], size: number): RecordedAnswer {
  const recorded: RecordedAnswer = Buffer.allocUnsafeSlow(size);
  let at = 0;
  for (const piece of pieces) at += piece.copy(recorded, at);
  return recorded;
}

/** batchesOf yields the batches of a recorded answer. */
function* batchesOf<D extends DescMessage>(desc: D, recorded: RecordedAnswer): Generator<readonly Wire<D>[], void> {
  let batch: Wire<D>[] = [];
  for (let at = 0; at < recorded.length; ) {
    const kind = recorded[at] as number;
    const from = at + headBytes;
    at = from + recorded.readUInt32LE(at + 1);
    batch.push(decode(desc, { isJson: (kind & jsonBit) !== 0, bytes: recorded.subarray(from, at) }));
    if ((kind & lastOfBatchBit) === 0) continue;
    yield batch;
    batch = [];
  }
}

/** bodyOf returns the body of a recorded unary answer. */
export function bodyOf<D extends DescMessage>(desc: D, recorded: RecordedAnswer): Wire<D> {
  const [[body] = []] = batchesOf(desc, recorded);
  if (!body) throw new Error("the recorded answer is empty");
  return body;
}

/** framesOf yields the batches of a recorded stream. Calls `onLast` before it yields the last one. */
export async function* framesOf<D extends DescMessage>(
  desc: D,
  recorded: RecordedAnswer,
  onLast: () => void = () => {},
): Frames<D> {
  const batches = batchesOf(desc, recorded);
  for (let step = batches.next(); !step.done; ) {
    const next = batches.next();
    if (next.done) onLast();
    yield step.value;
    step = next;
  }
}
