/** Writes a message to a socket: its head, which is text of one byte a character, and its body behind it. */
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";

/** What is longer is not copied to stand behind its head. In bytes. */
export const longestTogether = 16_384;

/** Where messages are put together that their sockets take at once: who has taken one keeps nothing of it. */
let desk = Buffer.allocUnsafeSlow(longestTogether);

/** A body, whole or in the pieces of which it consists. */
export type Body = Buffer | readonly Buffer[];

/** Returns how many bytes it has. */
export function lengthOf(body: Body): number {
  return Buffer.isBuffer(body) ? body.length : body.reduce((sum, { length }) => sum + length, 0);
}

/** Returns false where the reader has to catch up. */
export function writeMessage(socket: Socket, head: string, body: Body | undefined): boolean {
  if (!body || body.length === 0) return socket.write(head, "latin1");
  if (!Buffer.isBuffer(body)) return writeInTurn(socket, head, body);
  const length = head.length + body.length;
  if (length > longestTogether) return writeInTurn(socket, head, [body]);
  const isDesk = takesAtOnce(socket);
  const both = isDesk ? desk.subarray(0, length) : Buffer.allocUnsafe(length);
  both.write(head, 0, head.length, "latin1");
  both.set(body, head.length);
  const isTaken = socket.write(both);
  // It could not take all of it: the rest is its own until it can.
  if (isDesk && socket.writableLength > 0) desk = Buffer.allocUnsafeSlow(longestTogether);
  return isTaken;
}

/** Whether nothing waits to be written, as far as can be known. What is encrypted is kept until that is done. */
function takesAtOnce(socket: Socket): boolean {
  return socket.writableLength === 0 && socket.writableCorked === 0 && !(socket instanceof TLSSocket);
}

function writeInTurn(socket: Socket, head: string, pieces: readonly Buffer[]): boolean {
  socket.cork();
  let isTaken = socket.write(head, "latin1");
  for (const piece of pieces) isTaken = socket.write(piece);
  socket.uncork();
  return isTaken;
}
