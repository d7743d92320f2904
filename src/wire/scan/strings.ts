/** Reads single JSON strings and values from bytes. */
import { isAscii } from "node:buffer";
import type { JsonValue } from "@bufbuild/protobuf";
import { WireFault } from "../fault.ts";
import { parseExactly } from "./parse-exactly.ts";
import { backslash } from "./punctuation.ts";

const spaces = 0x20202020;

const { utf8Slice } = Buffer.prototype;

/** readText reads a string with its quotes. Characters that need an escape are accepted as they are. Throws a WireFault. */
export function readText(bytes: Uint8Array, from: number, to: number): string {
  const text = utf8Slice.call(bytes, from, to);
  return text.includes("\\") ? (parseText(text) as string) : text.slice(1, -1);
}

/** parseText parses a value as `parseExactly` does. Throws a WireFault without a path. */
export function parseText(text: string, isFree = false): JsonValue {
  try {
    return parseExactly(text, isFree);
  } catch {
    // The parser's message quotes the text, which may be private.
    throw notJson();
  }
}

export function notJson(): WireFault {
  return new WireFault("malformed", "the body is not JSON");
}

/** isPlain reports whether a string is ASCII without escapes, so that its JSON is the string itself. */
export function isPlain(text: Buffer): boolean {
  return isAscii(text) && !text.includes(backslash) && !hasControls(text);
}

/**
 * hasControls reports whether ASCII bytes include control characters, which JSON forbids. Sixteen bytes are checked per step, four at once.
 */
function hasControls(text: Buffer): boolean {
  const view = new DataView(text.buffer, text.byteOffset, text.length);
  const rest = text.length - (text.length % 16);
  // Subtracting a space sets the highest bit of a control character. A borrow reaches only the next byte, whose lower
  // neighbour is then already found.
  let differences = 0;
  for (let at = 0; at < rest; at += 16) {
    differences |= view.getInt32(at, true) - spaces;
    differences |= view.getInt32(at + 4, true) - spaces;
    differences |= view.getInt32(at + 8, true) - spaces;
    differences |= view.getInt32(at + 12, true) - spaces;
  }
  return (differences & 0x80808080) !== 0 || text.subarray(rest).some((byte) => byte < 0x20);
}

const block = "-".repeat(32 * 1024);

/** filler makes a string of this length from a shared one, without copying. */
export function filler(length: number): string {
  return block.repeat(Math.floor(length / block.length)) + block.slice(0, length % block.length);
}
