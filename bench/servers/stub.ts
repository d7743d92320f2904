/**
 * The upstream of streams and slow answers, written directly on sockets: a server with node:http would cost as much as
 * what is measured. `node stub.ts PORT`; the request's model selects the behaviour (`payloads.ts`). `POST /end` ends
 * the open paced streams.
 */
import { createServer, type Socket } from "node:net";
import { chatAnswer, chunkFrame, chunksPerStream, embeddingsAnswer, lastFrames, stampedFrame } from "../payloads.ts";

const port = Number(process.argv[2]);

const whole = (json: string) =>
  Buffer.from(
    `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(json)}\r\n\r\n${json}`,
  );
const chat = whole(chatAnswer);
const embeddings = whole(embeddingsAnswer);
const ended = whole("{}");
const streamHead = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
const piece = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
const lastPiece = "0\r\n\r\n";
const flatPiece = [false, true].map((withUsage) =>
  Buffer.from(piece(chunkFrame("and a few words more, as many as a moment has", withUsage))),
);

interface Paced {
  readonly socket: Socket;
  readonly withUsage: boolean;
}

/** paced are the streams by their interval, and by the millisecond of the interval in which a chunk is due. */
const paced = new Map<number, readonly Set<Paced>[]>();

createServer({ noDelay: true }, (socket) => {
  let held: Buffer | undefined;
  socket.on("error", () => socket.destroy());
  socket.on("data", (data: Buffer) => {
    held = held ? Buffer.concat([held, data]) : data;
    const request = requestIn(held);
    if (!request) return;
    held = undefined; // Nobody sends the next request before the answer.
    answer(socket, request.head, request.body);
  });
}).listen(port, "127.0.0.1", 16_384);

let tick = Math.floor(performance.now());

/** One timer for all streams; those that are not due cost nothing. */
setInterval(() => {
  for (const now = Math.floor(performance.now()); tick < now; tick++) {
    for (const [everyMs, slots] of paced) {
      for (const { socket, withUsage } of slots[tick % everyMs] ?? []) socket.write(piece(stampedFrame(withUsage)));
    }
  }
}, 1);

function requestIn(bytes: Buffer): { head: string; body: Buffer } | undefined {
  const end = bytes.indexOf("\r\n\r\n");
  if (end === -1) return undefined;
  const head = bytes.toString("latin1", 0, end);
  if (/transfer-encoding: *chunked/i.test(head)) {
    return bytes.subarray(-5).toString("latin1") === "0\r\n\r\n" ? { head, body: bytes.subarray(end + 4) } : undefined;
  }
  const length = Number(/content-length: *(\d+)/i.exec(head)?.[1] ?? 0);
  return bytes.length >= end + 4 + length ? { head, body: bytes.subarray(end + 4) } : undefined;
}

function answer(socket: Socket, head: string, body: Buffer): void {
  if (head.startsWith("POST /end ")) {
    endPaced(socket);
    return;
  }
  const path = head.slice(5, head.indexOf(" ", 5));
  if (path === "/v1/embeddings") return void socket.write(embeddings);
  const model = modelIn(body);
  const withUsage = body.includes('"include_usage":true');
  const [kind, number] = model.split("-");
  if (kind === "late") setTimeout(() => socket.write(chat), Number(number));
  else if (kind === "flat") flat(socket, withUsage);
  else if (kind === "brief") brief(socket, Number(number), withUsage);
  else if (kind === "paced") begin(socket, Number(number), withUsage);
  else socket.write(chat);
}

function modelIn(body: Buffer): string {
  const at = body.indexOf('"model":"') + 9;
  return body.toString("latin1", at, body.indexOf('"', at));
}

/** Each chunk is a separate write, as upstreams send them. */
function flat(socket: Socket, withUsage: boolean): void {
  socket.write(streamHead);
  const chunk = flatPiece[Number(withUsage)] as Buffer;
  for (let i = 0; i < chunksPerStream - 1; i++) socket.write(chunk);
  socket.write(piece(lastFrames(withUsage)) + lastPiece);
}

function brief(socket: Socket, endsAfterMs: number, withUsage: boolean): void {
  socket.write(streamHead + piece(stampedFrame(withUsage)));
  setTimeout(() => socket.write(piece(lastFrames(withUsage)) + lastPiece), endsAfterMs);
}

function begin(socket: Socket, everyMs: number, withUsage: boolean): void {
  socket.write(streamHead + piece(stampedFrame(withUsage)));
  const slots = paced.get(everyMs) ?? Array.from({ length: everyMs }, () => new Set<Paced>());
  paced.set(everyMs, slots);
  const slot = slots[Math.floor(Math.random() * everyMs)];
  const stream = { socket, withUsage };
  slot?.add(stream);
  socket.once("close", () => slot?.delete(stream));
}

function endPaced(asker: Socket): void {
  for (const slots of paced.values()) {
    for (const slot of slots) {
      for (const { socket, withUsage } of slot) socket.write(piece(lastFrames(withUsage)) + lastPiece);
      slot.clear();
    }
  }
  asker.write(ended);
}
