/** Answers on a bare socket what never became a request, and then ends the connection. */
import { type ServerResponse, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { newId } from "../../runtime/ids.ts";
import type { ListenOptions } from "./listen.ts";

type RejectionOptions = Pick<ListenOptions, "rejectionBody">;

const rejections: ReadonlyMap<string, number> = new Map(
  Object.entries({
    HPE_HEADER_OVERFLOW: 431,
    ERR_HTTP_REQUEST_TIMEOUT: 408,
  }),
);

/** How long a refused client may go on sending before its connection is cut. */
const lingerMs = 1000;

/**
 * Answers on the bare socket what the HTTP/1.1 parser refused, unless another answer has begun there. Then the
 * connection ends, but not at once: while bytes still come in it would be reset, and the client lose the answer.
 */
export function rejectRaw(
  error: NodeJS.ErrnoException,
  socket: Socket,
  answer: ServerResponse | undefined,
  { rejectionBody }: RejectionOptions,
): void {
  const begun = answer?.headersSent && !answer.writableFinished;
  if (error.code === "ECONNRESET" || begun || socket.destroyed) return void socket.destroy();
  if (socket.writableEnded) return; // The parser fails anew with all that comes after the fault.
  const status = rejections.get(error.code ?? "") ?? 400;
  const body = rejectionBody(status);
  endRaw(socket, status, rejectionHeaders(body), body);
}

/** Answers who takes the gateway for a proxy: Node would close the connection without a word. */
export function rejectConnect(socket: Socket, { rejectionBody }: RejectionOptions): void {
  socket.on("error", () => socket.destroy()).resume();
  const body = rejectionBody(405);
  endRaw(socket, 405, { allow: "GET, POST, DELETE", ...rejectionHeaders(body) }, body);
}

/** Answers what begins like the preface of HTTP/2 and is none. */
export function rejectPreface(socket: Socket, { rejectionBody }: RejectionOptions): void {
  socket.on("error", () => socket.destroy()).resume();
  const body = rejectionBody(400);
  endRaw(socket, 400, rejectionHeaders(body), body);
}

/** Writes an answer on a bare socket, and ends the connection. */
export function endRaw(socket: Socket, status: number, headers: Record<string, string>, body: Buffer): void {
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head.join("")}\r\n${body}`);
  const cut = setTimeout(() => socket.destroy(), lingerMs);
  socket.once("close", () => clearTimeout(cut));
}

/** Answers a request that names no host, which HTTP/1.1 asks of every one. */
export function rejectHeadless(res: ServerResponse, { rejectionBody }: RejectionOptions): void {
  const body = rejectionBody(400);
  res.writeHead(400, rejectionHeaders(body)).end(body);
}

function rejectionHeaders(body: Buffer): Record<string, string> {
  const id = newId("req");
  return {
    connection: "close",
    "content-type": "application/json",
    "content-length": String(body.length),
    "x-request-id": id,
    "request-id": id,
  };
}
