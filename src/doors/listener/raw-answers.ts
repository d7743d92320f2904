/** Answers on a bare socket what never became a request, and then ends the connection. */
import { type ServerResponse, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { newId } from "../../runtime/ids.ts";
import { discardInTurns } from "../../runtime/read-turns.ts";

/** RejectionBody writes the body of an answer to what never became a request. */
export type RejectionBody = (status: number) => Buffer;

/** Statuses by the error code of Node's parser; 400 for all others. */
const statuses: ReadonlyMap<string, number> = new Map(
  Object.entries({
    HPE_HEADER_OVERFLOW: 431,
    ERR_HTTP_REQUEST_TIMEOUT: 408,
  }),
);

/** lingerMs is how long a refused client may go on sending before its connection is cut, in milliseconds. */
const lingerMs = 1000;

/**
 * rejectRaw answers on the bare socket what the HTTP/1.1 parser refused, unless another answer has begun there. The connection ends only
 * after a while: closed while bytes still arrive, it would be reset, and the client would lose the answer.
 */
export function rejectRaw(
  error: NodeJS.ErrnoException,
  socket: Socket,
  answer: ServerResponse | undefined,
  rejectionBody: RejectionBody,
): void {
  const hasBegun = answer?.headersSent && !answer.writableFinished;
  if (error.code === "ECONNRESET" || hasBegun || socket.destroyed) return void socket.destroy();
  if (socket.writableEnded) return; // The parser fails again on whatever follows the fault.
  const status = statuses.get(error.code ?? "") ?? 400;
  const body = rejectionBody(status);
  endRaw(socket, status, rejectionHeaders(body), body);
}

/** rejectConnect answers a client that takes the gateway for a proxy. Node would close the connection without an answer. */
export function rejectConnect(socket: Socket, rejectionBody: RejectionBody): void {
  discardInTurns(socket.on("error", () => socket.destroy()));
  const body = rejectionBody(405);
  endRaw(socket, 405, { allow: "GET, POST, DELETE", ...rejectionHeaders(body) }, body);
}

/** Answers on a bare socket what cannot be served: bytes that begin like the preface of HTTP/2 and are none, a handshake with a faulty head. */
export function rejectBare(socket: Socket, rejectionBody: RejectionBody): void {
  discardInTurns(socket.on("error", () => socket.destroy()));
  const body = rejectionBody(400);
  endRaw(socket, 400, rejectionHeaders(body), body);
}

/** endRaw writes an answer on a bare socket, and ends the connection. */
export function endRaw(socket: Socket, status: number, headers: Record<string, string>, body: Buffer): void {
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head.join("")}\r\n${body}`);
  const cut = setTimeout(() => socket.destroy(), lingerMs);
  socket.once("close", () => clearTimeout(cut));
}

/** rejectHead answers a request whose head is faulty, or asks for what no gateway does. Its connection ends, but for one of HTTP/2. */
export function rejectHead(res: ServerResponse, rejectionBody: RejectionBody, status = 400): void {
  const body = rejectionBody(status);
  const { connection, ...headers } = rejectionHeaders(body);
  // HTTP/2 has no such field.
  res.writeHead(status, res.req.httpVersionMajor === 2 ? headers : { connection, ...headers }).end(body);
}

function rejectionHeaders(body: Buffer): Record<string, string> & { readonly connection: string } {
  const id = newId("req");
  return {
    connection: "close",
    "content-type": "application/json",
    "content-length": String(body.length),
    "x-request-id": id,
    "request-id": id,
  };
}
