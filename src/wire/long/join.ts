/** Joins bytes in time slices. Copying megabytes into fresh memory takes milliseconds. */
import type { CooperativeTask } from "../../runtime/cooperative.ts";

/** Bytes copied between two yields. */
const bytesPerSlice = 2 ** 20;

export function* join(parts: readonly Uint8Array[]): CooperativeTask<Buffer> {
  if (parts.length === 1) return bufferOf(parts[0] as Uint8Array);
  let length = 0;
  for (const part of parts) length += part.length;
  const joined = Buffer.allocUnsafe(length);
  let at = 0;
  let interruptedAt = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
    if (at - interruptedAt < bytesPerSlice) continue;
    interruptedAt = at;
    yield;
  }
  return joined;
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}
