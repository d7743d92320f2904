/** Bodies in chunks (RFC 9112, section 7.1): decoded from bytes that are cut anywhere, and encoded. */

import { readFields } from "./fields.ts";

const cr = 0x0d;
const lf = 0x0a;
/** The most bytes of a line between chunks, and of all trailers together. */
const maxLineBytes = 16_384;
/** More digits are a size that is not counted exactly. */
const maxDigits = 8;
/** The value of each byte as a hexadecimal digit; -1 for other bytes. */
const hexDigits = Int8Array.from({ length: 256 }, (_, byte) =>
  "0123456789abcdef".indexOf(String.fromCharCode(byte).toLowerCase()),
);

/** A size, and extensions without spaces around their signs (RFC 9112, section 7.1.1). */
const sizeLine =
  /^([0-9a-f]{1,8})(?:;[!#$%&'*+.^_`|~\w-]+(?:=(?:[!#$%&'*+.^_`|~\w-]+|"(?:[\t !#-[\]-~\x80-\xff]|\\[\t -~\x80-\xff])*"))?)*\r$/i;
/** Fields that frame a message must not follow it (RFC 9110, section 6.5.1). */
const forbiddenTrailers: ReadonlySet<string> = new Set(["content-length", "transfer-encoding"]);

/** State is what comes next. */
type State = "size" | "data" | "dataEnd" | "trailers" | "complete";

/** ChunkedDecoder decodes one body, with its trailers. */
export class ChunkedDecoder {
  #state: State = "size";
  /** left is how many bytes of the chunk have not come yet. */
  #left = 0;
  /** The beginning of a line that has not come whole. */
  #line = "";
  #trailers = 0;
  /** Counts the bytes that are read between chunks, for tests. */
  readonly #steps: { count: number } | undefined;

  constructor(steps?: { count: number }) {
    this.#steps = steps;
  }

  get isComplete(): boolean {
    return this.#state === "complete";
  }

  /**
   * Decodes bytes, and appends what they hold of the body to `pieces`, without a copy. Returns how many bytes it has taken: all but
   * those behind the end. Throws RangeError for malformed chunks.
   */
  decode(bytes: Buffer, pieces: Buffer[]): number {
    let at = 0;
    while (at < bytes.length && this.#state !== "complete") {
      if (this.#state === "data") {
        const to = Math.min(bytes.length, at + this.#left);
        pieces.push(bytes.subarray(at, to));
        this.#left -= to - at;
        at = to;
        if (this.#left === 0) this.#state = "dataEnd";
      } else at = this.#readPlainSize(bytes, at) ?? this.#readLine(bytes, at);
    }
    return at;
  }

  /** Reads a line that is complete and has a size and nothing else, as most have. Returns undefined for any other. */
  #readPlainSize(bytes: Buffer, from: number): number | undefined {
    if (this.#state !== "size" || this.#line !== "") return undefined;
    let size = 0;
    let at = from;
    for (; at < bytes.length && at < from + maxDigits; at++) {
      const digit = hexDigits[bytes[at] as number] as number;
      if (digit < 0) break;
      size = size * 16 + digit;
    }
    if (size === 0 || bytes[at] !== cr || bytes[at + 1] !== lf) return undefined;
    if (this.#steps) this.#steps.count += at + 2 - from;
    this.#left = size;
    this.#state = "data";
    return at + 2;
  }

  #readLine(bytes: Buffer, from: number): number {
    const end = bytes.indexOf(lf, from);
    const to = end === -1 ? bytes.length : end;
    if (this.#steps) this.#steps.count += to - from + 1;
    const line = this.#line + bytes.toString("latin1", from, to);
    if (line.length + this.#trailers > maxLineBytes) throw new RangeError("a line between chunks is too long");
    if (end === -1) {
      this.#line = line;
      return to;
    }
    this.#line = "";
    if (this.#steps) this.#steps.count += line.length;
    if (line.charCodeAt(line.length - 1) !== cr) throw new RangeError("a line between chunks does not end as lines do");
    this.#takeLine(line);
    return end + 1;
  }

  /** Reads a line with its CR. */
  #takeLine(line: string): void {
    const isEmpty = line.length === 1;
    if (this.#state === "size") {
      const [, digits] = sizeLine.exec(line) ?? [];
      if (digits === undefined) throw new RangeError("a chunk does not begin with its size");
      this.#left = Number.parseInt(digits, 16);
      this.#state = this.#left === 0 ? "trailers" : "data";
    } else if (this.#state === "dataEnd") {
      if (!isEmpty) throw new RangeError("a chunk is longer than its size");
      this.#state = "size";
    } else if (isEmpty) this.#state = "complete";
    else this.#takeTrailer(line);
  }

  /** Drops a trailer, which must be a well-formed field (RFC 9112, section 7.1.2). */
  #takeTrailer(line: string): void {
    let isField = false;
    const isPlain = readFields(line.slice(0, -1), 0, (name) => (isField = !forbiddenTrailers.has(name)));
    if (!isPlain || !isField) throw new RangeError("a field behind the last chunk is none");
    this.#trailers += line.length;
  }
}

const lastChunk = "0\r\n";

/** encodeChunk encodes at least one byte as a chunk, with `text` before it. */
export function encodeChunk(text: string, bytes: Buffer): Buffer {
  const start = `${text}${bytes.length.toString(16)}\r\n`;
  const end = start.length + bytes.length;
  const chunk = Buffer.allocUnsafe(end + 2);
  chunk.write(start, "latin1");
  chunk.set(bytes, start.length);
  chunk[end] = cr;
  chunk[end + 1] = lf;
  return chunk;
}

/** encodeLastChunk encodes the end of a body in chunks, with trailers. */
export function encodeLastChunk(trailers: string): string {
  return `${lastChunk}${trailers}\r\n`;
}
