/**
 * HTTP/1.1 over bare sockets: sends prepared bytes and detects the end of an answer, so that the client costs little
 * compared with what it measures.
 */
import { connect, type Socket } from "node:net";

export interface Asked {
  readonly port: number;
  /** bytes is the whole request. */
  readonly bytes: Buffer;
}

/** requestBytes builds a request. */
export function requestBytes(path: string, headers: Readonly<Record<string, string>>, body: string): Buffer {
  const lines = Object.entries({ host: "127.0.0.1", "content-type": "application/json", ...headers });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  return Buffer.from(`POST ${path} HTTP/1.1\r\n${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
}

export interface Answered {
  readonly status: number;
  readonly text: string;
}

export interface Connection {
  /** ask sends a request after the previous answer, and resolves when its answer is complete. */
  ask(bytes: Buffer): Promise<Answered>;
  readonly busy: boolean;
  close(): void;
}

const crlf2 = Buffer.from("\r\n\r\n");
const lastPiece = Buffer.from("0\r\n\r\n");

/** open opens a connection. `onData` sees the bytes as they arrive. */
export async function open(port: number, onData?: (data: Buffer) => void): Promise<Connection> {
  const socket = await connected(port);
  let parts: Buffer[] = [];
  let waiting: { resolve: (answered: Answered) => void; reject: (error: Error) => void } | undefined;
  let isWhole: ((bytes: Buffer) => boolean) | undefined;
  const fail = (error: Error) => {
    waiting?.reject(error);
    waiting = undefined;
  };
  socket.on("error", fail);
  socket.on("close", () => fail(new Error("the connection was closed before the answer's end")));
  socket.on("data", (data: Buffer) => {
    onData?.(data);
    parts.push(data);
    isWhole ??= endOf(parts.length === 1 ? data : Buffer.concat(parts));
    if (!isWhole?.(data)) return;
    const bytes = parts.length === 1 ? data : Buffer.concat(parts);
    const at = bytes.indexOf(crlf2);
    const answered = { status: Number(bytes.toString("latin1", 9, 12)), text: bytes.toString("utf8", at + 4) };
    const { resolve } = waiting ?? {};
    parts = [];
    waiting = undefined;
    isWhole = undefined;
    resolve?.(answered);
  });
  return {
    ask(bytes) {
      return new Promise((resolve, reject) => {
        waiting = { resolve, reject };
        socket.write(bytes);
      });
    },
    get busy() {
      return waiting !== undefined;
    },
    close: () => socket.destroy(),
  };
}

function connected(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true });
    socket.once("connect", () => resolve(socket)).once("error", reject);
  });
}

/**
 * endOf returns a function that tells whether the answer has ended with these bytes; undefined before its head is
 * complete.
 */
function endOf(begun: Buffer): ((latest: Buffer) => boolean) | undefined {
  const at = begun.indexOf(crlf2);
  if (at === -1) return undefined;
  const length = /content-length: *(\d+)/i.exec(begun.toString("latin1", 0, at))?.[1];
  if (length === undefined) {
    let tail = begun.subarray(-64);
    let first = true;
    return (latest) => {
      tail = first ? tail : Buffer.concat([tail, latest]).subarray(-64);
      first = false;
      return endsPieces(tail);
    };
  }
  let left = at + 4 + Number(length) - begun.length;
  let first = true;
  return (latest) => {
    if (!first) left -= latest.length;
    first = false;
    return left <= 0;
  };
}

/** The last chunk may be followed by trailers. */
function endsPieces(tail: Buffer): boolean {
  if (tail.subarray(-5).equals(lastPiece)) return true;
  return tail.subarray(-4).equals(crlf2) && /\r\n0\r\n(?:[^\r\n]+\r\n)+\r\n$/.test(tail.toString("latin1"));
}
