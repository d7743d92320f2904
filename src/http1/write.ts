/** Writes a message to a socket: its head, which is text of one byte a character, and its body behind it. */
import type { Socket } from "node:net";

/** A large body is not copied to stand behind its head. */
const largeBytes = 16_384;

/** Returns false where the reader has to catch up. */
export function writeMessage(socket: Socket, head: string, body: Buffer | undefined): boolean {
  if (!body || body.length === 0) return socket.write(head, "latin1");
  if (body.length <= largeBytes) {
    const both = Buffer.allocUnsafe(head.length + body.length);
    both.write(head, "latin1");
    both.set(body, head.length);
    return socket.write(both);
  }
  socket.cork();
  socket.write(head, "latin1");
  const isTaken = socket.write(body);
  socket.uncork();
  return isTaken;
}
