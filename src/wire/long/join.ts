/** Puts bytes together in turns: to copy megabytes, into memory that nobody has touched yet, takes milliseconds. */
import type { CooperativeTask } from "../../runtime/cooperative.ts";

/** In bytes: so much is copied before it may be interrupted. */
const bytesATurn = 2 ** 20;

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
    if (at - interruptedAt < bytesATurn) continue;
    interruptedAt = at;
    yield;
  }
  return joined;
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}
