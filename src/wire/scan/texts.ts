/** The texts of JSON as they stand in its bytes. */
import { isAscii } from "node:buffer";
import type { JsonValue } from "@bufbuild/protobuf";
import { WireFault } from "../fault.ts";
import { backslash } from "./signs.ts";

const spaces = 0x20202020;

const { utf8Slice } = Buffer.prototype;

/** Reads a text with its quotes; what may not stand in one without an escape is taken as it is. Throws a WireFault. */
export function readText(bytes: Uint8Array, from: number, to: number): string {
  const text = utf8Slice.call(bytes, from, to);
  return text.includes("\\") ? (parseText(text) as string) : text.slice(1, -1);
}

/** Throws a WireFault without a path. */
export function parseText(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    // The parser's own words quote the text, which may be private.
    throw notJson();
  }
}

export function notJson(): WireFault {
  return new WireFault("malformed", "the body is not JSON");
}

/** Whether a text stands in its JSON as it is, and is ASCII. */
export function isPlain(text: Buffer): boolean {
  return isAscii(text) && !text.includes(backslash) && !hasControls(text);
}

/**
 * Whether a text has characters below the space, which JSON does not allow. It is ASCII: sixteen bytes are looked at in a step,
 * four at once.
 */
function hasControls(text: Buffer): boolean {
  const view = new DataView(text.buffer, text.byteOffset, text.length);
  const rest = text.length - (text.length % 16);
  // What is below the space has its highest bit set then; a higher byte that a borrow reaches has one below it that has.
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

/** Makes a text of this length out of one that is there; nothing is copied. */
export function filler(length: number): string {
  return block.repeat(Math.floor(length / block.length)) + block.slice(0, length % block.length);
}
