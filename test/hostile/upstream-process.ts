/**
 * An upstream on a bare socket, in a process of its own. How it answers a request follows from the model that it names:
 * see `behaviours.ts`. It tells its port when it listens, and what it has seen when it is asked.
 */
import { type AddressInfo, createServer, type Socket } from "node:net";
import { type Asked, behaviours } from "./behaviours.ts";
import type { Seen } from "./upstream.ts";

const requests: Record<string, number> = {};
let largest = 0;
const sockets = new Set<Socket>();

const server = createServer({ noDelay: true }, (socket) => {
  sockets.add(socket);
  socket.on("error", () => {}).on("close", () => sockets.delete(socket));
  void serve(socket);
});

/** Reads requests of a told length, one after another, and has each answered. */
async function serve(socket: Socket): Promise<void> {
  let pieces: Buffer[] = [];
  let length = 0;
  let need = 0;
  let answering = Promise.resolve();
  socket.on("data", (piece: Buffer) => {
    pieces.push(piece);
    length += piece.length;
    while (length > 0 && length >= need) {
      const bytes = pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces);
      pieces = [bytes];
      const headEnd = bytes.indexOf("\r\n\r\n");
      if (headEnd === -1) return;
      const told = /\r\ncontent-length: *(\d+)/i.exec(bytes.toString("latin1", 0, headEnd));
      need = headEnd + 4 + Number(told?.[1] ?? 0);
      if (length < need) return;
      const body = bytes.subarray(headEnd + 4, need);
      pieces = length > need ? [bytes.subarray(need)] : [];
      length -= need;
      need = 0;
      answering = answering.then(() => answer(socket, body)).catch(() => void socket.destroy());
    }
  });
}

async function answer(socket: Socket, body: Buffer): Promise<void> {
  largest = Math.max(largest, body.length);
  const asked = readAsked(body);
  requests[asked.model] = (requests[asked.model] ?? 0) + 1;
  await (behaviours[asked.model] ?? behaviours.calm)?.(socket, asked);
}

/** Large bodies are not parsed: their model stands at the beginning, or they are for the sink. */
function readAsked(body: Buffer): Asked {
  const parseable = 4 * 2 ** 20;
  if (body.length > parseable) return { model: "sink", text: "", stream: false };
  const { model, stream = false, messages = [], input } = JSON.parse(body.toString());
  const content = messages.at(-1)?.content ?? input ?? "";
  const text = typeof content === "string" ? content : (content[0]?.text ?? String(content[0] ?? ""));
  return { model, stream, text };
}

server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
process.on("message", (order) => {
  if (order === "forget") {
    largest = 0;
    return;
  }
  const seen: Seen = { requests, largest, open: sockets.size };
  process.send?.(seen);
});
process.on("disconnect", () => process.exit());
// A terminal interrupts the harness and its children together: this one serves until the harness ends.
process.on("SIGINT", () => {});
