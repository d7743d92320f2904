/**
 * Server-sent events: reads an upstream's frames from bytes cut anywhere, and writes ours.
 *
 * The reader accepts the HTML standard's event stream format and what upstreams send besides: LF, CRLF and CR, a
 * leading byte order mark, `data:` with and without the space, several data lines, comments, frames of an event
 * alone, a last frame without its blank line, lines of JSON without `data:`, frames of JSON without a blank line
 * between them, and errors in a field of that name. Frames are passed on without a copy where the upstream writes LF and the frame is not cut.
 */
import { parsedJson } from "./json.ts";
import type { Steps } from "./scan/steps.ts";

const lf = 0x0a;
const cr = 0x0d;
const space = 0x20;
const colon = 0x3a;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const byteOrderMark = Buffer.from("\ufeff");
const dataName = Buffer.from("data");
const empty = Buffer.alloc(0);
const eventName = Buffer.from("event");
const errorName = Buffer.from("error");
const dataPrefix = Buffer.from("data: ");
const frameEnd = Buffer.from("\n\n");
const errorEnd = Buffer.from("\nevent: error\n\n");
const endMark = Buffer.from("[DONE]");

/** The largest frame, in bytes of its data. */
export const maxFrameBytes = 16 * 1024 * 1024;
/** The most data lines of a frame. Each costs far more than its bytes while the frame lasts. */
const maxDataLines = 65_536;

/** opensJson finds a line with which a list or an object begins. */
const opensJson = /^(?:\[\s*$|(?:\[\s*)?\{\s*(?:"|$))/;
/** The bytes of a line that are looked at for that. */
const longestOpening = 16;

export interface SseFrame {
  /** The `event:` line, or undefined. */
  readonly event: string | undefined;
  /** The data lines joined by LF; never empty. */
  readonly data: Buffer;
  /** The whole frame, where it is a single data line as we write frames. */
  readonly raw: Buffer | undefined;
}

export class SseReader {
  /** The bytes of an unfinished line: the first `#held` of the buffer. */
  #buffer: Buffer = empty;
  #held = 0;
  #first = true;
  #afterCr = false;
  #event: string | undefined;
  #data: Buffer[] = [];
  #dataBytes = 0;
  /** isBare is whether the data stand in lines without a field's name. */
  #isBare = false;
  #saysData = false;
  readonly #steps: Steps | undefined;

  constructor(steps?: Steps) {
    this.#steps = steps;
  }

  /** Reports whether any data came since the last call. Comments and events without data do not count. */
  takeSawData(): boolean {
    const isInData = this.#held > 0 && this.#buffer[0] === dataName[0];
    const said = this.#saysData || isInData;
    this.#saysData = false;
    return said;
  }

  /** The bytes of the frame that has not come completely. */
  get heldBytes(): number {
    return this.#held + this.#dataBytes;
  }

  /**
   * Takes the next bytes and returns the frames that they complete. Throws RangeError over `maxFrameBytes` and
   * `maxDataLines`.
   */
  push(chunk: Buffer): SseFrame[] {
    const bytes = this.#withoutCr(chunk);
    const frames: SseFrame[] = [];
    let from = 0;
    for (let to = bytes.indexOf(lf); to !== -1; to = bytes.indexOf(lf, from)) {
      if (this.#steps) this.#steps.count += to - from + 1;
      if (this.#isFrame(bytes, from, to)) {
        this.#checkSize(to - from);
        const end = to + frameEnd.length;
        const data = bytes.subarray(from + dataPrefix.length, to);
        frames.push({ event: undefined, data, raw: bytes.subarray(from, end) });
        this.#saysData = true;
        from = end;
        continue;
      }
      if (this.#held === 0) this.#line(bytes, from, to, frames);
      else this.#wholeLine(this.#release(bytes.subarray(from, to)), frames);
      from = to + 1;
    }
    if (from < bytes.length) this.#hold(bytes.subarray(from));
    this.#checkSize(this.#held);
    return frames;
  }

  /** Returns the frame that the end of the stream completes, if any. */
  end(): SseFrame[] {
    const frames: SseFrame[] = [];
    if (this.#held > 0) this.#wholeLine(this.#release(empty), frames);
    this.#wholeLine(empty, frames);
    return frames;
  }

  /** Reports whether a line is a whole frame, as most are. */
  #isFrame(bytes: Buffer, from: number, to: number): boolean {
    const isBetween = this.#held === 0 && this.#data.length === 0 && this.#event === undefined && !this.#first;
    return isBetween && bytes[to + 1] === lf && to - from > dataPrefix.length && holdsAt(bytes, from, to, dataPrefix);
  }

  /**
   * Appends to the unfinished line. The buffer doubles, so a line in many small chunks is copied a few times in all.
   */
  #hold(piece: Buffer): void {
    const length = this.#held + piece.length;
    if (this.#steps) this.#steps.count += 2 * piece.length;
    if (length > this.#buffer.length) {
      if (this.#steps) this.#steps.count += length + this.#held;
      const larger = Buffer.allocUnsafe(2 * length);
      this.#buffer.copy(larger, 0, 0, this.#held);
      this.#buffer = larger;
    }
    piece.copy(this.#buffer, this.#held);
    this.#held = length;
  }

  /** Returns the finished line. Its memory belongs to the frame from now on. */
  #release(last: Buffer): Buffer {
    this.#hold(last);
    const line = this.#buffer.subarray(0, this.#held);
    this.#buffer = empty;
    this.#held = 0;
    return line;
  }

  #checkSize(more: number): void {
    if (this.#dataBytes + more > maxFrameBytes) throw new RangeError(`a frame of more than ${maxFrameBytes} bytes`);
  }

  /** Writes CR and CRLF as LF, also where they are cut between chunks. */
  #withoutCr(chunk: Buffer): Buffer {
    if (!this.#afterCr && !chunk.includes(cr)) return chunk;
    if (this.#steps) this.#steps.count += chunk.length;
    const out = Buffer.allocUnsafe(chunk.length);
    let length = 0;
    for (const byte of chunk) {
      if (!(byte === lf && this.#afterCr)) out[length++] = byte === cr ? lf : byte;
      this.#afterCr = byte === cr;
    }
    return out.subarray(0, length);
  }

  #wholeLine(line: Buffer, frames: SseFrame[]): void {
    this.#line(line, 0, line.length, frames);
  }

  /** Reads the line between two positions. */
  #line(bytes: Buffer, from: number, to: number, frames: SseFrame[]): void {
    const start = this.#first && holdsAt(bytes, from, to, byteOrderMark) ? from + byteOrderMark.length : from;
    this.#first = false;
    if (start === to) {
      this.#endFrame(frames);
      return;
    }
    // Comments and blank lines may be all that comes, and nothing is made of them.
    if (bytes[start] === colon && !this.#isBare) return;
    const isData = holdsAt(bytes, start, to, dataName);
    if (!isData && isObjectLine(bytes.subarray(start, to))) {
      this.#endFrame(frames);
      this.#saysData = true;
      this.#checkSize(to - start);
      frames.push({ event: undefined, data: bytes.subarray(start, to), raw: undefined });
      return;
    }
    const name = isData ? dataName : [eventName, errorName].find((other) => holdsAt(bytes, start, to, other));
    if (!name) {
      this.#bareLine(bytes.subarray(start, to), frames);
      return;
    }
    const end = start + name.length;
    if (end < to && bytes[end] !== colon) return;
    if (this.#isBare) this.#endFrame(frames);
    const value = bytes.subarray(Math.min(to, bytes[end + 1] === space ? end + 2 : end + 1), to);
    if (name === eventName) {
      this.#event = value.toString();
      return;
    }
    // llama.cpp writes an error as a field of its own.
    if (name === errorName) {
      this.#endFrame(frames);
      this.#event = "error";
    }
    this.#saysData = true;
    this.#add(value);
  }

  /**
   * #bareLine takes a line of JSON that stands between frames, as Google's server and proxies write an error into a stream. What is no JSON
   * at its end is left out.
   */
  #bareLine(line: Buffer, frames: SseFrame[]): void {
    if (!this.#isBare && opensJson.test(line.toString("latin1", 0, longestOpening))) {
      this.#endFrame(frames);
      this.#isBare = true;
    }
    if (this.#isBare) this.#add(line);
  }

  #add(value: Buffer): void {
    if (this.#data.push(value) > maxDataLines)
      throw new RangeError(`a frame of more than ${maxDataLines} lines of data`);
    this.#dataBytes += value.length + 1;
    this.#checkSize(0);
  }

  #endFrame(frames: SseFrame[]): void {
    if (this.#steps) this.#steps.count += 2 * this.#dataBytes;
    const event = this.#event;
    this.#event = undefined;
    if (this.#data.length === 0) return;
    if (this.#isBare && parsedJson(joinLines(this.#data).toString()) === undefined) this.#data = [];
    const isSeveral = this.#data.length > 1 && this.#data.every((line) => isObjectLine(line) || line.equals(endMark));
    if (this.#isBare && this.#data.length > 0) this.#saysData = true;
    const all = isSeveral || this.#data.length === 1 ? this.#data : [joinLines(this.#data)];
    for (const data of all) if (data.length > 0) frames.push({ event, data, raw: undefined });
    this.#isBare = false;
    this.#data = [];
    this.#dataBytes = 0;
  }
}

/** isObjectLine reports whether a line seems to be a whole JSON object: several of them are not the lines of one value. */
function isObjectLine(line: Buffer): boolean {
  return line.length > 1 && line[0] === openBrace && line[line.length - 1] === closeBrace;
}

/**
 * isObjectLines reports whether bytes are JSON objects, one a line, as some servers stream them. Only the first line is looked at, and
 * what the next begins with.
 */
export function isObjectLines(bytes: Buffer): boolean {
  const end = bytes.indexOf(lf);
  if (end === -1) return false;
  const first = bytes.subarray(0, bytes[end - 1] === cr ? end - 1 : end);
  let next = end + 1;
  while (bytes[next] === lf || bytes[next] === cr) next++;
  return isObjectLine(first) && bytes[next] === openBrace;
}

/** holdsAt reports whether `wanted` stands at `from` and ends by `to`. */
function holdsAt(bytes: Buffer, from: number, to: number, wanted: Buffer): boolean {
  if (from + wanted.length > to) return false;
  for (let i = 0; i < wanted.length; i++) if (bytes[from + i] !== wanted[i]) return false;
  return true;
}

function joinLines(lines: readonly Buffer[]): Buffer {
  return Buffer.from(lines.map((line) => line.toString("latin1")).join("\n"), "latin1");
}

/** frameFromTemplate writes a data frame from parts that contain no line ends. */
export function frameFromTemplate(before: Buffer, piece: Buffer, after: Buffer): Buffer {
  const start = dataPrefix.length;
  const length = before.length + piece.length + after.length;
  const frame = Buffer.allocUnsafe(start + length + frameEnd.length);
  frame.set(dataPrefix);
  frame.set(before, start);
  frame.set(piece, start + before.length);
  frame.set(after, start + before.length + piece.length);
  frame.set(frameEnd, start + length);
  return frame;
}

/** dataFrame writes a data frame. */
export function dataFrame(payload: Buffer): Buffer {
  return Buffer.concat([dataPrefix, onOneLine(payload), frameEnd]);
}

/** eventFrame writes an event frame. */
export function eventFrame(name: string, payload: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`event: ${name.replace(/[\r\n]/g, " ")}\ndata: `), onOneLine(payload), frameEnd]);
}

/**
 * errorFrame writes the error that ends a stream without events. Its name stands behind its data: langchain4j takes an error without a name
 * for the end of the answer, and go-openai takes every line before the data for a part of the error.
 */
export function errorFrame(payload: Buffer): Buffer {
  return Buffer.concat([dataPrefix, onOneLine(payload), errorEnd]);
}

/** isEvent reports whether a frame that we wrote is an event. */
export function isEvent(frame: Buffer): boolean {
  return frame[0] === eventName[0];
}

/** dataOf returns the data of a frame that we wrote, without a copy. */
export function dataOf(frame: Buffer): Buffer {
  const line = isEvent(frame) ? frame.indexOf(lf) + 1 : 0;
  return frame.subarray(line + dataPrefix.length, -frameEnd.length);
}

/** onOneLine replaces line breaks. JSON may have them between tokens; a data line may not. */
function onOneLine(payload: Buffer): Buffer {
  if (!payload.includes(lf) && !payload.includes(cr)) return payload;
  return payload.map((byte) => (byte === lf || byte === cr ? space : byte)) as Buffer;
}
