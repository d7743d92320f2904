/** Writes a message to a socket: its head, which is Latin-1, and its body behind it, in one write where they are short. */
import type { Socket } from "node:net";
import { writesAtOnce } from "./node-internals.ts";

/** A longer message is not copied into one piece, in bytes. */
export const maxCoalescedBytes = 16_384;

/** scratch is where messages are put together for sockets that write at once. It is replaced when a socket keeps what it was given. */
let scratch = Buffer.allocUnsafeSlow(maxCoalescedBytes);

/** A body, whole or in pieces. */
export type Body = Buffer | readonly Buffer[];

/** byteLength returns the number of bytes of a body. */
export function byteLength(body: Body): number {
  return Buffer.isBuffer(body) ? body.length : body.reduce((sum, { length }) => sum + length, 0);
}

/** writeMessage writes a message. Returns false where the reader has to catch up before more is written. */
export function writeMessage(socket: Socket, head: string, body: Body | undefined): boolean {
  if (!body || body.length === 0) return socket.write(head, "latin1");
  if (!Buffer.isBuffer(body)) return writeCorked(socket, head, body);
  const length = head.length + body.length;
  if (length > maxCoalescedBytes) return writeCorked(socket, head, [body]);
  const isScratch = writesAtOnce(socket);
  const message = isScratch ? scratch.subarray(0, length) : Buffer.allocUnsafe(length);
  message.write(head, 0, head.length, "latin1");
  message.set(body, head.length);
  const hasRoom = socket.write(message);
  // The system could not take all of it: the socket keeps the memory until it can.
  if (isScratch && socket.writableLength > 0) scratch = Buffer.allocUnsafeSlow(maxCoalescedBytes);
  return hasRoom;
}

function writeCorked(socket: Socket, head: string, pieces: readonly Buffer[]): boolean {
  socket.cork();
  let hasRoom = socket.write(head, "latin1");
  for (const piece of pieces) hasRoom = socket.write(piece);
  socket.uncork();
  return hasRoom;
}
