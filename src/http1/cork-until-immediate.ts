/**
 * Corks sockets, so that what is written to many of them within a turn of the event loop goes out together. A write to a socket
 * whose reader sleeps wakes it, which costs more than the write; readers that are written to right after each other are often
 * woken once.
 */
import type { Socket } from "node:net";

/** Corks a socket until everything that was corked with it is sent. */
export type Cork = (socket: Socket) => void;

/** createCork creates a cork. `schedule` calls back when what was corked is to be sent. */
function createCork(schedule: (uncork: () => void) => void): Cork {
  let corked: Socket[] = [];
  const uncork = () => {
    const sockets = corked;
    corked = [];
    for (const socket of sockets) socket.uncork();
  };
  return (socket) => {
    if (socket.writableCorked > 0) return;
    socket.cork();
    if (corked.push(socket) === 1) schedule(uncork);
  };
}

/** Corks a socket until all sockets have been read that had something to read. */
export const corkUntilImmediate: Cork = createCork(setImmediate);

/** Corks a socket until the end of the tick: for what many callers have waited for together. */
export const corkUntilTick: Cork = createCork(process.nextTick);
