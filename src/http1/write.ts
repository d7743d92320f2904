/** Writes a message to a socket: its head, which is text of one byte a character, and its body behind it. */
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";

/** What is longer is not copied to stand behind its head. In bytes. */
export const longestTogether = 16_384;

/** Where messages are put together that their sockets take at once: who has taken one keeps nothing of it. */
let desk = Buffer.allocUnsafeSlow(longestTogether);

/** Returns false where the reader has to catch up. */
export function writeMessage(socket: Socket, head: string, body: Buffer | undefined): boolean {
  if (!body || body.length === 0) return socket.write(head, "latin1");
  const length = head.length + body.length;
  if (length > longestTogether) return writeInTurn(socket, head, body);
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

function writeInTurn(socket: Socket, head: string, body: Buffer): boolean {
  socket.cork();
  socket.write(head, "latin1");
  const isTaken = socket.write(body);
  socket.uncork();
  return isTaken;
}
