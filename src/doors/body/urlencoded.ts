/**
 * application/x-www-form-urlencoded → pairs of texts.
 *
 * `+` is a space and `%41` a byte of UTF-8. A `%` without two hexadecimal digits stands for itself, as in browsers. A text that is
 * not UTF-8 is refused, as in JSON, because it could not be passed on unchanged.
 */
import { isUtf8 } from "node:buffer";
import { malformedBody } from "../../call/refusals.ts";
import type { Steps } from "../../wire/scan/steps.ts";
import type { Pair } from "./form-tree.ts";

const ampersand = 0x26;
const equals = 0x3d;
const percent = 0x25;
const plus = 0x2b;
const space = 0x20;

/** urlencodedPairs yields the pairs in the order of the form, also empty ones, which count as any other. Throws a Refusal. */
export function* urlencodedPairs(body: Buffer, steps: Steps = { count: 0 }): Generator<Pair> {
  for (let from = 0; from < body.length; ) {
    const found = body.indexOf(ampersand, from);
    const to = found === -1 ? body.length : found;
    const pair = body.subarray(from, to);
    const middle = pair.indexOf(equals);
    steps.count += to - from + 1 + (middle === -1 ? pair.length : middle) + pair.length;
    const keyEnd = middle === -1 ? pair.length : middle;
    yield [decoded(pair.subarray(0, keyEnd)), decoded(pair.subarray(keyEnd + 1))];
    from = to + 1;
  }
}

function decoded(bytes: Buffer): string {
  const plain = bytes.includes(percent) || bytes.includes(plus) ? unescaped(bytes) : bytes;
  if (!isUtf8(plain)) throw malformedBody("a form field is not UTF-8");
  return plain.toString();
}

function unescaped(bytes: Buffer): Buffer {
  const out = Buffer.allocUnsafe(bytes.length);
  let length = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] as number;
    const escaped = byte === percent ? digit(bytes[at + 1]) * 16 + digit(bytes[at + 2]) : Number.NaN;
    if (!Number.isNaN(escaped)) at += 2;
    out[length++] = Number.isNaN(escaped) ? (byte === plus ? space : byte) : escaped;
  }
  return out.subarray(0, length);
}

/** digit returns the value of a hexadecimal digit, or NaN. */
function digit(byte: number | undefined): number {
  if (byte === undefined) return Number.NaN;
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x61 + 10 : Number.NaN;
}
