/** Tells HTTP/2 from everything else by the first bytes of a connection: its preface (RFC 9113, section 3.4). */
import type { Socket } from "node:net";

const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

/**
 * The method of the preface, which no request has (RFC 9113, section 11). Node's HTTP/1.1 parser would wait for the rest of a
 * preface.
 */
const reserved = Buffer.from("PRI ");

/** FirstBytes is what a connection begins with. */
export type FirstBytes = "http2" | "broken preface" | "other";

/**
 * sniff reads a connection until its first bytes are the preface or cannot be, puts them back, and calls `decide`, once. A connection that
 * stays undecided for `timeoutMs` is cut.
 */
export function sniff(socket: Socket, timeoutMs: number, decide: (found: FirstBytes) => void): void {
  let seen: Buffer = Buffer.alloc(0);
  let late: NodeJS.Immediate | undefined;
  // After a busy spell timers fire before reads. What has arrived meanwhile is read before the cut.
  const timer = setTimeout(() => (late = setImmediate(() => socket.destroy())), timeoutMs);
  const stopTimers = () => {
    clearTimeout(timer);
    clearImmediate(late);
  };
  const drop = () => void socket.destroy();
  const onReadable = () => {
    const chunk = socket.read(socket.readableLength) as Buffer | null;
    if (chunk) seen = seen.length === 0 ? chunk : Buffer.concat([seen, chunk]);
    const length = Math.min(seen.length, preface.length);
    const same = seen.compare(preface, 0, length, 0, length) === 0;
    if (same && length < preface.length) return;
    stopTimers();
    socket.off("readable", onReadable).off("error", drop).off("end", drop).off("close", stopTimers);
    socket.unshift(seen);
    decide(same ? "http2" : seen.subarray(0, reserved.length).equals(reserved) ? "broken preface" : "other");
  };
  socket.on("readable", onReadable);
  socket.once("error", drop);
  socket.once("end", drop);
  // A timer that is left would keep the process alive after the listener has closed.
  socket.once("close", stopTimers);
}
