/**
 * Answers in one piece of memory, to be told once more: collected while they pass, and told again in the same batches and
 * the same bytes.
 *
 * One piece, for a thousand frames of a stream would take several times their own bytes as a thousand things; and what it
 * takes can be told exactly.
 */
import type { DescMessage } from "@bufbuild/protobuf";
import type { Frames } from "../../call/call.ts";
import { decode, type EncodedAnswer, encode } from "../../wire/encoded.ts";
import type { Wire } from "../../wire/wire.ts";

export interface Recording {
  /** Takes the next part of the answer: a whole one is one batch of one. */
  add(batch: readonly Wire[]): void;
  /** Returns what was collected; undefined where it grew too long. */
  packed(): Buffer | undefined;
  /** Lets go of what was collected. */
  end(): void;
}

/** Memory that recordings share, so that many at once take no more of it than a few. */
export interface Room {
  /** Takes so many bytes; false where they are not there. */
  take(bytes: number): boolean;
  give(bytes: number): void;
}

export function createRoom(bytes: number): Room {
  let left = bytes;
  return {
    take(wanted) {
      if (wanted > left) return false;
      left -= wanted;
      return true;
    },
    give(back) {
      left += back;
    },
  };
}

const unbounded: Room = { take: () => true, give: () => {} };

/** Before each frame: what it is, in a byte, and its length, in four. */
const headBytes = 5;
const jsonBit = 1;
const lastOfBatchBit = 2;
/** What a frame takes besides while it is one of many things. */
const pieceBytes = 256;

/** `mostBytes` is how long it may grow: what goes beyond, or finds no room, is let go of at once. */
export function createRecording(mostBytes: number, room = unbounded): Recording {
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
    const wanted = bytes.length + pieceBytes;
    if (!pieces || size > mostBytes || !room.take(wanted)) {
      end();
      return;
    }
    taken += wanted;
    const head = Buffer.allocUnsafe(headBytes);
    head[0] = (isJson ? jsonBit : 0) | (isLast ? lastOfBatchBit : 0);
    head.writeUInt32LE(bytes.length, 1);
    pieces.push(head, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length));
  }

  return {
    add(batch) {
      for (let i = 0; pieces && i < batch.length; i++) take(encode(batch[i] as Wire), i === batch.length - 1);
    },
    // Memory of its own: a piece of the pool would keep all that the pool holds.
    packed: () => pieces && copied(pieces, size),
    end,
  };
}

function copied(pieces: readonly Buffer[], size: number): Buffer {
  const packed = Buffer.allocUnsafeSlow(size);
  let at = 0;
  for (const piece of pieces) at += piece.copy(packed, at);
  return packed;
}

/** Reads one batch after another, as they are asked for. */
export function* batchesOf<D extends DescMessage>(desc: D, packed: Buffer): Generator<readonly Wire<D>[], void> {
  let batch: Wire<D>[] = [];
  for (let at = 0; at < packed.length; ) {
    const kind = packed[at] as number;
    const from = at + headBytes;
    at = from + packed.readUInt32LE(at + 1);
    batch.push(decode(desc, { isJson: (kind & jsonBit) !== 0, bytes: packed.subarray(from, at) }));
    if ((kind & lastOfBatchBit) === 0) continue;
    yield batch;
    batch = [];
  }
}

/** Returns the body of a whole answer. */
export function bodyOf<D extends DescMessage>(desc: D, packed: Buffer): Wire<D> {
  const [[body] = []] = batchesOf(desc, packed);
  if (!body) throw new Error("nothing was packed");
  return body;
}

/** Tells a stream once more, batch by batch. `onLast` is told before the last one is handed over. */
export async function* framesOf<D extends DescMessage>(
  desc: D,
  packed: Buffer,
  onLast: () => void = () => {},
): Frames<D> {
  const batches = batchesOf(desc, packed);
  for (let step = batches.next(); !step.done; ) {
    const next = batches.next();
    if (next.done) onLast();
    yield step.value;
    step = next;
  }
}
