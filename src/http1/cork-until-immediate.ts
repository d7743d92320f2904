/**
 * What is written to many sockets in one turn of the event loop goes out together: to write to a socket whose reader sleeps
 * wakes it, which costs more than the write, and those who are written to right after each other are often woken once.
 */
import type { Socket } from "node:net";
import { longestTogether, writeMessage } from "./write.ts";

/** Has what is written to the socket from here on go out with all else that is. */
export type Hold = (socket: Socket) => void;

/** `soon` calls back when what comes together has come. */
function together(soon: (send: () => void) => void): Hold {
  let held: Socket[] = [];
  const send = () => {
    const sockets = held;
    held = [];
    for (const socket of sockets) socket.uncork();
  };
  return (socket) => {
    if (socket.writableCorked > 0) return;
    socket.cork();
    if (held.push(socket) === 1) soon(send);
  };
}

/** Until all sockets have been read that had something to read. */
export const holdForTurn: Hold = together(setImmediate);

/** Until all that follows from what happens now has happened: for what many callers have waited for together. */
export const holdForTick: Hold = together(process.nextTick);

interface Message {
  readonly socket: Socket;
  readonly head: string;
  readonly body: Buffer | undefined;
}

let messages: Message[] = [];

/**
 * Writes a whole message at the end of the tick, as what is held. A short one to a socket that has nothing to write is not
 * handed over before: whoever ends such a socket has what waits sent first (`sendMessages`).
 */
export function writeWithTick(socket: Socket, head: string, body: Buffer | undefined): void {
  const isShort = head.length + (body?.length ?? 0) <= longestTogether;
  if (isShort && socket.writableLength === 0 && socket.writableCorked === 0) {
    if (messages.push({ socket, head, body }) === 1) process.nextTick(sendMessages);
  } else {
    holdForTick(socket);
    writeMessage(socket, head, body);
  }
}

/** Sends what waits for the end of the tick. */
export function sendMessages(): void {
  const sending = messages;
  messages = [];
  for (const { socket, head, body } of sending) if (socket.writable) writeMessage(socket, head, body);
}

/** Calls back when the sockets have been read once more: a server that says something before it is asked shows until then. */
export function afterReads(then: () => void): void {
  setImmediate(setImmediate, then);
}
