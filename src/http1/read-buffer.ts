/**
 * Reads connections into one piece of memory that all of them share, and copies what has come into a buffer of its length. For a
 * read of its own Node allocates 64 kB each time, of which a call or a chunk of a stream fills little.
 */
import type { OnReadOpts, Socket } from "node:net";
import { readIntoMemory } from "./node-internals.ts";

/** The most that one read brings, in bytes. */
const maxReadBytes = 65_536;
/** A shorter copy is allocated from Node's pool, in bytes. */
const minUnpooledBytes = 4_096;

/** madeMemory is where connections that the gateway makes are read, and those that it accepts. Their callbacks copy before they return. */
const madeMemory = Buffer.allocUnsafeSlow(maxReadBytes);
const acceptedMemory = Buffer.allocUnsafeSlow(maxReadBytes);

/** sharedOnRead returns the `onread` option for a connection that is to be made. `onData` owns the buffers it is called with. */
export function sharedOnRead(onData: (bytes: Buffer) => void): OnReadOpts {
  const callback = (length: number) => {
    onData(copyOf(madeMemory, length));
    return true;
  };
  return { buffer: madeMemory, callback };
}

/**
 * readIntoSharedMemory reads an accepted connection like this from now on; `data` is no longer emitted. The memory that `onRead` is called
 * with holds the bytes until it returns. Returns a function that has `data` emitted again; undefined where Node cannot read so
 * (`readIntoMemory`).
 */
export function readIntoSharedMemory(
  socket: Socket,
  onRead: (memory: Buffer, length: number) => void,
): (() => void) | undefined {
  return readIntoMemory(
    socket,
    acceptedMemory,
    (length) => onRead(acceptedMemory, length),
    (length) => copyOf(acceptedMemory, length),
  );
}

/** copyOf returns a copy of the first `length` bytes. */
export function copyOf(memory: Buffer, length: number): Buffer {
  const bytes = length < minUnpooledBytes ? Buffer.allocUnsafe(length) : Buffer.allocUnsafeSlow(length);
  memory.copy(bytes, 0, 0, length);
  return bytes;
}
