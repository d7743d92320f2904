/**
 * The one place for what this gateway relies on in Node's sockets and HTTP/1.1 server without its being documented. Each
 * function says what it relies on, and what the plain way is that is taken where a Node lacks it.
 */
import type { Server } from "node:http";
import { Socket } from "node:net";
import type { TLSSocket } from "node:tls";

/** SocketInternals is what a socket has inside. */
interface SocketInternals {
  readonly _handle?: { useUserBuffer?(memory: Buffer): void; getpeername?(found: object): number } | null;
  [symbol: symbol]: unknown;
}

const socketSymbols = Object.getOwnPropertySymbols(new Socket());
const symbolNamed = (description: string) => socketSymbols.find((symbol) => symbol.description === description);
const memorySymbol = symbolNamed("kBuffer");
const callbackSymbol = symbolNamed("kBufferCb");

/**
 * readIntoMemory has an accepted connection read into `memory`, and calls `onRead` with the length of each read; `data` is no longer
 * emitted. Returns a function that has each read pushed to the stream again, through `copy`.
 *
 * Relies on what implements the documented `onread` of `net.connect`: the symbols `kBuffer` and `kBufferCb` of a socket, and
 * `useUserBuffer` of its handle. Where one is missing it returns undefined, and the connection goes on to emit `data`.
 */
export function readIntoMemory(
  socket: Socket,
  memory: Buffer,
  onRead: (length: number) => void,
  copy: (length: number) => Buffer,
): (() => void) | undefined {
  const internals = socket as unknown as SocketInternals;
  if (!memorySymbol || !callbackSymbol || !internals._handle?.useUserBuffer) return undefined;
  internals[memorySymbol] = memory;
  internals[callbackSymbol] = onRead;
  internals._handle.useUserBuffer(memory);
  return () => {
    internals[callbackSymbol] = (length: number) => socket.push(copy(length));
  };
}

/**
 * writesAtOnce reports that the next write is handed to the system before `socket.write` returns, if the system takes it: nothing waits to
 * be written. The caller may reuse the memory if `writableLength` is 0 afterwards.
 *
 * Relies on libuv's trying to write at once, and on `writableLength` counting what it could not write. A Node that always
 * writes later leaves `writableLength` above 0, and the memory is not reused. TLS keeps what it encrypts, so it never qualifies.
 */
export function writesAtOnce(socket: Socket): boolean {
  return socket.writableLength === 0 && socket.writableCorked === 0 && !(socket as TLSSocket).encrypted;
}

/**
 * takeConnectionListener takes an HTTP server's listener for new connections off it, so that the caller decides which connections it
 * serves. Returns the function that has it serve one.
 *
 * Relies on the server's serving by its only `connection` listener. To emit `connection` on a server is documented, but a
 * server that does not listen itself keeps no time-outs, so ours must listen. There is no plain way: it throws where a Node has
 * no such listener.
 */
export function takeConnectionListener(server: Server): (socket: Socket) => void {
  const [serve, ...others] = server.listeners("connection") as ((socket: Socket) => void)[];
  if (!serve || others.length > 0) throw new Error("this version of Node serves HTTP connections in another way");
  server.removeAllListeners("connection");
  return (socket) => serve.call(server, socket);
}

/**
 * takeDataListener takes off a connection that Node's server serves the listener by which that reads it. Returns the listener.
 *
 * Relies on the server's reading by the only `data` listener, as it does once somebody else listens, too. There is no plain way: it throws
 * where a Node has no such listener.
 */
export function takeDataListener(socket: Socket): (bytes: Buffer) => void {
  const [read, ...others] = socket.listeners("data") as ((bytes: Buffer) => void)[];
  if (!read || others.length > 0) throw new Error("this version of Node reads HTTP connections in another way");
  socket.off("data", read);
  return read;
}

/**
 * isReadByServer reports whether Node's server still reads a connection: it does not once that is upgraded, or over.
 *
 * Relies on `parser` of a socket, which the server sets and clears.
 */
export function isReadByServer(socket: Socket & { readonly parser?: unknown }): boolean {
  return (socket.parser ?? null) !== null;
}

/**
 * isPausedByServer reports whether Node's server has stopped reading a connection, whose client does not read its answers. It resumes it.
 *
 * Relies on `_paused` of a socket. Where it is missing, the server is taken to read on.
 */
export function isPausedByServer(socket: Socket & { readonly _paused?: unknown }): boolean {
  return socket._paused === true;
}

/**
 * Flattens the head of a response. Node keeps the head for as long as the response lasts, as a rope of some fifty strings that
 * takes three times its memory; reading a character makes V8 join it.
 *
 * Relies on `_header` of a response that has been sent. Where it is missing nothing happens, and streams take more memory.
 */
export function flattenHead(response: object & { readonly _header?: unknown }): void {
  if (typeof response._header === "string") response._header.charCodeAt(0);
}

/**
 * isReset reports that the other side has reset a connection, also where nobody reads it: then Node learns of it only when it is read again.
 *
 * Relies on `getpeername` of a socket's handle, by which Node finds `remoteAddress`, which it keeps. Where it is missing no reset is seen.
 */
export function isReset(socket: Socket): boolean {
  const { _handle: handle } = socket as unknown as SocketInternals;
  return typeof handle?.getpeername === "function" && handle.getpeername({}) !== 0;
}

/**
 * isLastAnswer reports that a response has told its client that the connection ends with it.
 *
 * Relies on `_last` of a response whose head is written. Where it is missing it returns false, and Node serves requests behind such
 * an answer, whose own answers it then drops.
 */
export function isLastAnswer(response: object & { readonly headersSent: boolean; readonly _last?: unknown }): boolean {
  return response.headersSent && response._last === true;
}
