/**
 * Reads what connections bring into one piece of memory that all of them share, and copies it from there into as much as it
 * takes: for a read of its own Node takes 64 kB each time, which the collector has to give back, and a call or a chunk of a
 * stream fills hardly any of it.
 *
 * Node lets this be said of a connection when it is made (`onread`), and not of one that is taken: of such it is said by the
 * means that `onread` has inside. Where a Node has others, they are read as they were.
 */
import { type OnReadOpts, Socket } from "node:net";
import { inOneMoment } from "../runtime/clock.ts";

/** In bytes. */
const readAtOnce = 65_536;
/** What is shorter shares a piece of memory with more that is: Node keeps one for such. In bytes. */
const short = 4_096;

/** Nobody keeps them: who is called back copies first. */
const made = Buffer.allocUnsafeSlow(readAtOnce);
const taken = Buffer.allocUnsafeSlow(readAtOnce);

/** Returns how a connection is to be read that is about to be made. What it calls back with is whoever's who takes it. */
export function readBy(onData: (bytes: Buffer) => void): OnReadOpts {
  const take = inOneMoment((length) => onData(ownCopy(made, length)));
  const callback = (length: number) => {
    take(length);
    return true;
  };
  return { buffer: made, callback };
}

/** What a socket has inside. */
interface Inside {
  readonly _handle?: { useUserBuffer?(memory: Buffer): void } | null;
  [name: symbol]: unknown;
}

const names = Object.getOwnPropertySymbols(new Socket());
const named = (description: string) => names.find((name) => name.description === description);
const memoryName = named("kBuffer");
const callbackName = named("kBufferCb");

/**
 * Has a connection that was taken read like this from now on, with `data` told no more. What is called back with stands in
 * memory that holds it no longer than that. Returns what has `data` told again; undefined where Node has no means for it.
 */
export function readFrom(socket: Socket, onRead: (memory: Buffer, length: number) => void): (() => void) | undefined {
  const inside = socket as unknown as Inside;
  if (!memoryName || !callbackName || !inside._handle?.useUserBuffer) return undefined;
  inside[memoryName] = taken;
  inside[callbackName] = inOneMoment((length) => onRead(taken, length));
  inside._handle.useUserBuffer(taken);
  return () => {
    inside[callbackName] = (length: number) => socket.push(ownCopy(taken, length));
  };
}

/** Copies the beginning of what is shared. */
export function ownCopy(memory: Buffer, length: number): Buffer {
  const bytes = length < short ? Buffer.allocUnsafe(length) : Buffer.allocUnsafeSlow(length);
  memory.copy(bytes, 0, 0, length);
  return bytes;
}
