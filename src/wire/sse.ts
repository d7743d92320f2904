/**
 * Server-sent events: reading an upstream's frames from bytes cut anywhere, and writing ours.
 *
 * Reads what the HTML standard's event stream format allows, and what upstreams do besides: LF, CRLF and CR, a byte
 * order mark at the start, `data:` with and without the space, several data lines, comments, event-only frames, a last
 * frame without its blank line. A frame's bytes are handed on as they came, without a copy where the upstream writes
 * LF and does not cut the frame.
 */
const lf = 0x0a;
const cr = 0x0d;
const space = 0x20;
const colon = 0x3a;
const byteOrderMark = Buffer.from("\ufeff");

/** The largest frame that is read, in bytes of its data. */
export const maxFrameBytes = 16 * 1024 * 1024;

export interface SseFrame {
  /** The `event:` line, or undefined. */
  readonly event: string | undefined;
  /** The data lines, joined by LF; never empty. */
  readonly data: Buffer;
}

export class SseReader {
  /** The bytes of a line whose end has not come yet: the first `#held` of the buffer. */
  #buffer: Buffer = Buffer.alloc(0);
  #held = 0;
  #first = true;
  #afterCr = false;
  #event: string | undefined;
  #data: Buffer[] = [];
  #dataBytes = 0;

  /** Takes the next bytes and returns the frames that they complete. Throws RangeError over `maxFrameBytes`. */
  push(chunk: Buffer): SseFrame[] {
    const bytes = this.#withoutCr(chunk);
    const frames: SseFrame[] = [];
    let from = 0;
    for (let to = bytes.indexOf(lf); to !== -1; to = bytes.indexOf(lf, from)) {
      this.#line(this.#release(bytes.subarray(from, to)), frames);
      from = to + 1;
    }
    if (from < bytes.length) this.#hold(bytes.subarray(from));
    this.#checkSize(this.#held);
    return frames;
  }

  /** Returns the frame that the stream's end completes, if any. */
  end(): SseFrame[] {
    const frames: SseFrame[] = [];
    const empty = Buffer.alloc(0);
    if (this.#held > 0) this.#line(this.#release(empty), frames);
    this.#line(empty, frames);
    return frames;
  }

  /** The buffer doubles, so that a long line in many small chunks is copied a few times in all, not at each chunk. */
  #hold(piece: Buffer): void {
    const length = this.#held + piece.length;
    if (length > this.#buffer.length) {
      const larger = Buffer.allocUnsafe(2 * length);
      this.#buffer.copy(larger, 0, 0, this.#held);
      this.#buffer = larger;
    }
    piece.copy(this.#buffer, this.#held);
    this.#held = length;
  }

  /** Returns the held bytes with the last of their line. They are the frame's now: the next line starts anew. */
  #release(last: Buffer): Buffer {
    if (this.#held === 0) return last;
    this.#hold(last);
    const line = this.#buffer.subarray(0, this.#held);
    this.#buffer = Buffer.alloc(0);
    this.#held = 0;
    return line;
  }

  #checkSize(more: number): void {
    if (this.#dataBytes + more > maxFrameBytes) throw new RangeError(`a frame of more than ${maxFrameBytes} bytes`);
  }

  /** Writes CR and CRLF as LF, also where they are cut between chunks. */
  #withoutCr(chunk: Buffer): Buffer {
    if (!this.#afterCr && !chunk.includes(cr)) return chunk;
    const out = Buffer.allocUnsafe(chunk.length);
    let length = 0;
    for (const byte of chunk) {
      if (!(byte === lf && this.#afterCr)) out[length++] = byte === cr ? lf : byte;
      this.#afterCr = byte === cr;
    }
    return out.subarray(0, length);
  }

  #line(text: Buffer, frames: SseFrame[]): void {
    const line = this.#first && text.indexOf(byteOrderMark) === 0 ? text.subarray(byteOrderMark.length) : text;
    this.#first = false;
    if (line.length === 0) {
      const data = this.#data.length === 1 ? (this.#data[0] as Buffer) : joinLines(this.#data);
      if (data.length > 0) frames.push({ event: this.#event, data });
      this.#event = undefined;
      this.#data = [];
      this.#dataBytes = 0;
      return;
    }
    const end = line.indexOf(colon);
    if (end === 0) return; // A comment.
    const name = line.toString("latin1", 0, end === -1 ? line.length : end);
    const value = end === -1 ? line.subarray(line.length) : line.subarray(line[end + 1] === space ? end + 2 : end + 1);
    if (name === "event") this.#event = value.toString();
    if (name !== "data") return;
    this.#data.push(value);
    this.#dataBytes += value.length + 1;
    this.#checkSize(0);
  }
}

function joinLines(lines: readonly Buffer[]): Buffer {
  return Buffer.from(lines.map((line) => line.toString("latin1")).join("\n"), "latin1");
}

const dataPrefix = Buffer.from("data: ");
const frameEnd = Buffer.from("\n\n");

/** Returns the pieces of a data-only frame. */
export function dataFrame(payload: Buffer): Buffer[] {
  return [dataPrefix, onOneLine(payload), frameEnd];
}

/** Returns the pieces of a frame with its event's name. */
export function eventFrame(event: string, payload: Buffer): Buffer[] {
  return [Buffer.from(`event: ${event.replace(/[\r\n]/g, " ")}\n`), ...dataFrame(payload)];
}

/** JSON may hold line breaks between its tokens; a frame may not. */
function onOneLine(payload: Buffer): Buffer {
  if (!payload.includes(lf) && !payload.includes(cr)) return payload;
  return payload.map((byte) => (byte === lf || byte === cr ? space : byte)) as Buffer;
}
