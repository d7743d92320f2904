/**
 * The heads of one connection's requests. Most clients send the same one with each, but for the length of the body: that is
 * seen by its bytes, and it is not read again.
 */
import type { Fields } from "./fields.ts";
import { type PlainHead, type ReadHead, readHead } from "./served-request.ts";

/** A head that may come again. */
interface Known {
  readonly url: string;
  /** Those of the request that came last; their length is the next one's when that comes. */
  readonly headers: Fields;
  /** Its bytes up to the digits of the length, and from their end on. */
  readonly before: Buffer;
  readonly after: Buffer;
}

const zero = 0x30;
/** More than these are not counted exactly. */
const mostDigits = 15;

export class RepeatedHeads {
  /** A connection for one request, as of many a stream, keeps nothing. */
  #isFirst = true;
  #known: Known | undefined;

  /** Returns undefined for what is for somebody else. The headers it returns hold until it is called again. */
  read(bytes: Buffer): PlainHead | undefined {
    const repeated = this.#known && repeatedIn(bytes, this.#known);
    if (repeated) return repeated;
    const head = readHead(bytes);
    if (head && !this.#isFirst) this.#known = knownBy(head, bytes);
    this.#isFirst = false;
    return head;
  }
}

/** What stands between the colon and the digits belongs to what comes before them. */
function knownBy({ url, headers, lengthColon, from }: ReadHead, bytes: Buffer): Known {
  // Memory of its own: of a piece of what many share it would keep all, for as long as the connection lasts.
  const head = Buffer.allocUnsafeSlow(from);
  bytes.copy(head, 0, 0, from);
  let at = lengthColon + 1;
  while (digitAt(head, at) === undefined) at++;
  const before = head.subarray(0, at);
  while (digitAt(head, at) !== undefined) at++;
  return { url, headers, before, after: head.subarray(at) };
}

function repeatedIn(bytes: Buffer, { url, headers, before, after }: Known): PlainHead | undefined {
  if (!standsAt(before, bytes, 0)) return undefined;
  let at = before.length;
  let length = 0;
  for (let digit = digitAt(bytes, at); digit !== undefined; digit = digitAt(bytes, ++at)) length = length * 10 + digit;
  const digits = at - before.length;
  if (digits === 0 || digits > mostDigits || !standsAt(after, bytes, at)) return undefined;
  headers["content-length"] = bytes.toString("latin1", before.length, at);
  const from = at + after.length;
  return { url, headers, isRepeated: true, from, to: from + length };
}

function digitAt(bytes: Buffer, at: number): number | undefined {
  const digit = (bytes[at] ?? 0) - zero;
  return digit >= 0 && digit <= 9 ? digit : undefined;
}

function standsAt(part: Buffer, bytes: Buffer, at: number): boolean {
  return bytes.length - at >= part.length && bytes.compare(part, 0, part.length, at, at + part.length) === 0;
}
