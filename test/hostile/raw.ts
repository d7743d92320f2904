/**
 * Speaks to the gateway's port byte by byte: sockets that send what no client library would. Every wait is bounded.
 */
import { once } from "node:events";
import { type IncomingHttpHeaders, request } from "node:http";
import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

/** Bounds what hangs, and times nothing, as answerMs does. */
const connectMs = 60_000;

/** Connects. The socket's errors are swallowed: being cut is what hostile clients expect. */
export async function open(port: number, localAddress?: string): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true, ...(localAddress ? { localAddress } : {}) });
  socket.on("error", () => {});
  await once(socket, "connect", { signal: AbortSignal.timeout(connectMs) });
  return socket;
}

/** Waits for the first of some events, for a time at most. Returns which it was; leaves no listener behind. */
async function first(socket: Socket, events: readonly string[], ms: number): Promise<string | undefined> {
  const over = new AbortController();
  const { signal } = over;
  const waits = events.map((event) => once(socket, event, { signal }).then(() => event));
  const late = delay(ms, undefined, { signal });
  const which = await Promise.race([...waits, late].map((wait) => wait.catch(() => undefined)));
  over.abort();
  return which;
}

/** Waits until the socket takes more, or is gone, for a time at most. */
export async function drained(socket: Socket, isTaken: boolean, ms = 60_000): Promise<boolean> {
  if (!isTaken && !socket.destroyed) await first(socket, ["drain", "close"], ms);
  return !socket.destroyed;
}

/** Resolves with whether the peer has closed the connection before the time is over. Throws what still arrives away. */
export async function isClosedWithin(socket: Socket, ms: number): Promise<boolean> {
  if (socket.destroyed || socket.readableEnded) return true;
  socket.resume();
  return (await first(socket, ["close", "end"], ms)) !== undefined;
}

/** Runs `work` so many times, some at once, until the signal fires. Returns how many were done. */
export async function inTurns(
  count: number,
  atOnce: number,
  signal: AbortSignal,
  work: (index: number) => Promise<unknown>,
): Promise<number> {
  let next = 0;
  let done = 0;
  const one = async () => {
    while (next < count && !signal.aborted) {
      await work(next++).catch(() => {});
      done++;
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, count) }, one));
  return done;
}

/** Writes the same bytes again and again, as fast as they are taken, until the time is over. Returns how often. */
export async function flood(socket: Socket, bytes: Uint8Array, ms: number, signal: AbortSignal): Promise<number> {
  const end = performance.now() + ms;
  let count = 0;
  while (performance.now() < end && !socket.destroyed && !signal.aborted) {
    count++;
    if (socket.write(bytes)) await delay(0);
    else await drained(socket, false, Math.max(1, end - performance.now()));
  }
  return count;
}

export interface Reply {
  /** 0 where no answer came. */
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Request {
  readonly method?: string;
  readonly path: string;
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  readonly localAddress?: string;
  readonly timeoutMs?: number;
}

const answerMs = 60_000;

/** Makes one whole request as a well-behaved client does, on a connection of its own. Never throws. */
export function ask(port: number, asked: Request): Promise<Reply> {
  const { path, key, body, localAddress, method = "POST", timeoutMs = answerMs } = asked;
  const headers: Record<string, string> = { "content-type": "application/json" };
  if (key !== undefined) headers.authorization = `Bearer ${key}`;
  if (body !== undefined) headers["content-length"] = String(Buffer.byteLength(body));
  Object.assign(headers, asked.headers);
  return new Promise((resolve) => {
    const none: Reply = { status: 0, headers: {}, body: "" };
    const options = {
      port,
      host: "127.0.0.1",
      method,
      path,
      headers,
      agent: false,
      ...(localAddress ? { localAddress } : {}),
    };
    const sent = request(options, (res) => {
      let text = "";
      res.setEncoding("latin1").on("data", (piece: string) => (text += piece));
      const settle = () => resolve({ status: res.statusCode ?? 0, headers: res.headers, body: text });
      res.on("end", settle).on("error", settle).on("close", settle);
    });
    const timer = setTimeout(() => sent.destroy(), timeoutMs);
    // A refusal may come before all of the body is sent, and the connection be cut after it.
    sent
      .on("error", () => setImmediate(resolve, none))
      .on("close", () => {
        clearTimeout(timer);
        setImmediate(resolve, none);
      });
    sent.end(body);
  });
}

/** Sends bytes on a connection of their own, and resolves with all that came back before the end or the time was over. */
export async function exchange(port: number, bytes: string | Uint8Array, ms: number): Promise<string> {
  const socket = await open(port);
  let text = "";
  socket.on("data", (piece: Buffer) => (text += piece.toString("latin1")));
  socket.write(bytes);
  await isClosedWithin(socket, ms);
  socket.destroy();
  return text;
}

/** Returns the bytes of a plain POST. */
export function post(path: string, key: string, body: string | Uint8Array, more = ""): Buffer {
  const type = /content-type/i.test(more) ? "" : "content-type: application/json\r\n";
  const head = `POST ${path} HTTP/1.1\r\nhost: h\r\nauthorization: Bearer ${key}\r\n${type}${more}`;
  const bytes = Buffer.from(body);
  return Buffer.concat([Buffer.from(`${head}content-length: ${bytes.length}\r\n\r\n`), bytes]);
}

/** Counts equal values, as text: `200 ×3, 429 ×1`. */
export function tally(values: readonly (string | number)[]): string {
  const counts = new Map<string | number, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].map(([value, count]) => `${value} ×${count}`).join(", ");
}
