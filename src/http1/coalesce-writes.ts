/** Writes short messages at the end of the tick, one after another, so that sockets are written to together. */
import type { Socket } from "node:net";
import { corkUntilTick } from "./cork-until-immediate.ts";
import { maxCoalescedBytes, writeMessage } from "./write-message.ts";

interface Message {
  readonly socket: Socket;
  readonly head: string;
  readonly body: Buffer | undefined;
}

let messages: Message[] = [];

/**
 * coalesceWrite writes a whole message at the end of the tick. Until then a short message is not in the socket's own buffer: `flushWrites`
 * must be called before the socket is ended.
 */
export function coalesceWrite(socket: Socket, head: string, body: Buffer | undefined): void {
  const isShort = head.length + (body?.length ?? 0) <= maxCoalescedBytes;
  if (isShort && socket.writableLength === 0 && socket.writableCorked === 0) {
    if (messages.push({ socket, head, body }) === 1) process.nextTick(flushWrites);
  } else {
    corkUntilTick(socket);
    writeMessage(socket, head, body);
  }
}

/** flushWrites writes the messages that wait for the end of the tick. */
export function flushWrites(): void {
  const flushing = messages;
  messages = [];
  for (const { socket, head, body } of flushing) if (socket.writable) writeMessage(socket, head, body);
}
