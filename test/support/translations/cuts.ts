/** Cuts the bytes of a stream of server-sent events wherever they may be cut, for tests that its translation is the same. */
import { SseReader } from "../../../src/wire/sse.ts";

type Pieces = readonly Buffer[];

/**
 * waysToCut returns the bytes in pieces: in two, cut at every place, and one by one. Of those whose frames are read alike, and come together
 * alike, it returns the first and the last, which are cut between frames and within one: what is behind the reader cannot tell the others from
 * these. A frame that is read wrongly is not alike.
 */
export function waysToCut(bytes: Buffer): readonly Pieces[] {
  const [firsts, lasts] = [new Map<string, Pieces>(), new Map<string, Pieces>()];
  const inTwo = Array.from({ length: bytes.length + 1 }, (_, at) => [bytes.subarray(0, at), bytes.subarray(at)]);
  for (const pieces of inTwo) {
    const way = wayOf(pieces);
    if (!firsts.has(way)) firsts.set(way, pieces);
    lasts.set(way, pieces);
  }
  return [...new Set([...firsts.values(), ...lasts.values()]), Array.from(bytes, (byte) => Buffer.of(byte))];
}

/** wayOf names the frames that come of pieces, and which of them come together. */
function wayOf(pieces: Pieces): string {
  const reader = new SseReader();
  const read = pieces.map((piece) => reader.push(piece).map(({ data }) => data.toString("latin1")));
  return JSON.stringify(read.filter((frames) => frames.length > 0));
}
