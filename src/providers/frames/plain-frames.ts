/**
 * Removes from frames what upstreams and proxies put around or between those of an answer: the name of the field
 * written twice, and keep-alives that are written as data.
 */
import type { SseFrame } from "../../wire/sse.ts";

const openBrace = 0x7b;
const prefix = Buffer.from("data:");

/** keepAlive is data that says nothing: blank, a comment, null, or a word for that. */
const keepAlive = /^(?::.*|null|\[?(?:ping|pong|heart-?beat|keep-?alive)\]?)?$/i;
const keepAliveEvent = /^(?:ping|heart-?beat|keep-?alive)$/i;
/** longestKeepAlive is the length of the longest data that is looked at for a keep-alive, in bytes. */
const longestKeepAlive = 100;

/** plainFrames returns the frames that say something; the same list where all do. */
export function plainFrames(frames: readonly SseFrame[]): readonly SseFrame[] {
  if (frames.every(({ data }) => data[0] === openBrace)) return frames;
  return frames.map(withoutPrefix).filter((frame) => !isKeepAlive(frame));
}

/** separateFrames returns a frame for each JSON object in data that has several in one line; undefined where it is anything else. */
export function separateFrames({ event, data }: SseFrame): readonly SseFrame[] | undefined {
  const ends = endsOfObjects(data);
  if (ends === undefined || ends.length < 2) return undefined;
  return plainFrames(
    ends.map((end, i) => ({ event, data: trimmed(data.subarray(ends[i - 1] ?? 0, end)), raw: undefined })),
  );
}

const [quote, backslash, closeBrace] = [0x22, 0x5c, 0x7d];

/** endsOfObjects returns where each object ends, which `data:` or white space may separate; undefined where one does not end, or is none. */
function endsOfObjects(data: Buffer): number[] | undefined {
  const ends: number[] = [];
  let depth = 0;
  let isInString = false;
  for (let at = 0; at < data.length; at++) {
    const byte = data[at];
    if (isInString) {
      if (byte === backslash) at++;
      else isInString = byte !== quote;
    } else if (byte === quote) isInString = true;
    else if (byte === openBrace) depth++;
    else if (byte === closeBrace && --depth === 0) ends.push(at + 1);
  }
  const rest = data.subarray(ends.at(-1) ?? 0).toString("latin1");
  return depth === 0 && rest.trim() === "" ? ends : undefined;
}

function trimmed(data: Buffer): Buffer {
  let from = 0;
  while ((data[from] ?? openBrace) <= 0x20) from++;
  return data.subarray(from);
}

function withoutPrefix(frame: SseFrame): SseFrame {
  let { data } = frame;
  while (data.subarray(0, prefix.length).equals(prefix)) data = trimmedStart(data.subarray(prefix.length));
  return data === frame.data ? frame : { ...frame, data, raw: undefined };
}

function trimmedStart(data: Buffer): Buffer {
  return data[0] === 0x20 ? data.subarray(1) : data;
}

/** isKeepAlive reports a keep-alive: by its data, or by the name of its event where the data is no JSON object. */
function isKeepAlive({ event, data }: SseFrame): boolean {
  if (data[0] === openBrace || data.length > longestKeepAlive) return false;
  return keepAlive.test(data.toString("latin1").trim()) || (event !== undefined && keepAliveEvent.test(event));
}
