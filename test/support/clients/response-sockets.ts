/**
 * Clients of responses over a WebSocket: by `ws`, and byte by byte.
 *
 *   const socket = await openSocket(gateway);
 *   const events = await socket.ask({ model, input: "Hello" });   // to the event that ends it
 *   await socket.close();
 */
import { randomBytes } from "node:crypto";
import { connect, type Socket } from "node:net";
import { WebSocket } from "ws";
import type { JsonObject } from "../../../src/wire/json.ts";
import { remember } from "../left-behind.ts";

export interface SocketEvent {
  readonly type: string;
  readonly status?: number;
  readonly sequence_number?: number;
  readonly error?: { readonly code: string | null; readonly message: string; readonly param: string | null };
  readonly response?: {
    readonly id: string;
    readonly status: string;
    readonly output: readonly JsonObject[];
    readonly usage: JsonObject;
  };
}

export interface TestSocket {
  readonly ws: WebSocket;
  send(message: JsonObject | string): void;
  /** Returns the next event. Waits for it; rejects where the connection closes before. */
  next(): Promise<SocketEvent>;
  /** Sends a request, and returns the events up to the one that ends its answer. */
  ask(request: JsonObject): Promise<SocketEvent[]>;
  /** Resolves with the code by which the connection was closed. */
  readonly closed: Promise<number>;
  close(): Promise<number>;
}

const endings = /^(?:error|response\.(?:completed|incomplete|failed))$/;

/** Nothing else hears what goes over such a connection: it is looked for, too, where it must not be left. */
function hear(message: string): void {
  for (const [, text = ""] of message.matchAll(/"(?:content|text|input|instructions)":"([^"]*)"/g)) {
    remember("what was said", text);
  }
}

interface Place {
  readonly port: number;
  readonly apiKey: string;
}

export async function openSocket(
  { port, apiKey }: Place,
  headers: Readonly<Record<string, string>> = {},
  path = "/v1/responses",
): Promise<TestSocket> {
  const all = { authorization: `Bearer ${apiKey}`, "openai-beta": "responses_websockets=2026-02-06", ...headers };
  const ws = new WebSocket(`ws://127.0.0.1:${port}${path}`, { headers: all });
  const events: SocketEvent[] = [];
  let wake = () => {};
  let isClosed = false;
  const closed = new Promise<number>((resolve) => {
    ws.once("close", (code) => {
      isClosed = true;
      wake();
      resolve(code);
    });
  });
  ws.on("message", (data) => {
    events.push(JSON.parse(String(data)) as SocketEvent);
    wake();
  });
  await new Promise<void>((resolve, reject) => {
    ws.once("open", resolve);
    ws.once("error", reject);
  });
  ws.on("error", () => {});
  const next = async (): Promise<SocketEvent> => {
    for (;;) {
      const event = events.shift();
      if (event) return event;
      if (isClosed) throw new Error("the connection was closed");
      await new Promise<void>((resolve) => (wake = resolve));
    }
  };
  const send = (message: JsonObject | string) => {
    const text = typeof message === "string" ? message : JSON.stringify(message);
    hear(text);
    ws.send(text);
  };
  return {
    ...{ ws, next, send, closed },
    async ask(request) {
      send({ type: "response.create", ...request });
      const told: SocketEvent[] = [];
      for (;;) {
        const event = await next();
        told.push(event);
        if (endings.test(event.type)) return told;
      }
    },
    close() {
      ws.close(1000);
      return closed;
    },
  };
}

/** Returns the status and the text of the answer to a handshake that is refused. */
export function refusedHandshake(
  place: Place,
): Promise<{ status: number; text: string; headers: NodeJS.Dict<string | string[]> }> {
  return new Promise((resolve, reject) => {
    const ws = new WebSocket(`ws://127.0.0.1:${place.port}/v1/responses`, {
      headers: { authorization: `Bearer ${place.apiKey}` },
    });
    ws.once("open", () => reject(new Error("it was opened")));
    ws.on("error", () => {});
    ws.once("unexpected-response", (_, res) => {
      let text = "";
      res.on("data", (piece) => (text += piece));
      res.on("end", () => resolve({ status: res.statusCode ?? 0, text, headers: res.headers }));
    });
  });
}

/** A connection whose every byte the test decides, upgraded. */
export interface RawSocket {
  readonly socket: Socket;
  /** Sends a frame: whole, text and masked unless said otherwise. */
  frame(
    payload: string | Buffer,
    how?: { opcode?: number; fin?: boolean; masked?: boolean; rsv?: number; length?: number },
  ): void;
  /** Returns what has come, behind the head of the answer. */
  received(): Buffer;
  /** Resolves with the code of the frame that closes the connection, or with 1006 where it is closed without one. */
  readonly closed: Promise<number>;
}

export async function openRaw({ port, apiKey }: Place): Promise<RawSocket> {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  let bytes: Buffer = Buffer.alloc(0);
  let headEnd = -1;
  const opened = Promise.withResolvers<void>();
  socket.on("data", (piece: Buffer) => {
    bytes = Buffer.concat([bytes, piece]);
    if (headEnd === -1) headEnd = bytes.indexOf("\r\n\r\n");
    if (headEnd !== -1) opened.resolve();
  });
  socket.on("error", () => {}).on("end", () => socket.end());
  const received = () => bytes.subarray(headEnd + 4);
  const closed = new Promise<number>((resolve) => {
    socket.once("close", () => resolve(closeCode(received())));
    // As a client does that is told to leave.
    socket.on("data", () => {
      const code = closeCode(received());
      if (code === 1006) return;
      resolve(code);
      socket.end();
    });
  });
  const key = randomBytes(16).toString("base64");
  socket.write(
    `GET /v1/responses HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n` +
      `sec-websocket-key: ${key}\r\nauthorization: Bearer ${apiKey}\r\n\r\n`,
  );
  await opened.promise;
  if (!bytes.toString("latin1").startsWith("HTTP/1.1 101 ")) throw new Error(`refused: ${bytes}`);
  return {
    socket,
    received,
    closed,
    frame: (payload, how = {}) => void socket.write(frameOf(Buffer.from(payload), how)),
  };
}

type How = NonNullable<Parameters<RawSocket["frame"]>[1]>;

export function frameOf(
  payload: Buffer,
  { opcode = 1, fin = true, masked = true, rsv = 0, length = payload.length }: How = {},
): Buffer {
  const first = (fin ? 0x80 : 0) | (rsv << 4) | opcode;
  const head = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10);
  head[0] = first;
  if (length < 126) head[1] = length;
  else if (length < 65_536) {
    head[1] = 126;
    head.writeUInt16BE(length, 2);
  } else {
    head[1] = 127;
    head.writeBigUInt64BE(BigInt(length), 2);
  }
  if (!masked) return Buffer.concat([head, payload]);
  head[1] = (head[1] as number) | 0x80;
  const mask = randomBytes(4);
  return Buffer.concat([head, mask, payload.map((byte, i) => byte ^ (mask[i % 4] as number))]);
}

/** Asks for something over HTTP first, and then sends handshake and first message in one piece behind it. Returns what came. */
export async function rawBehindPost({ port, apiKey }: Place, message: string): Promise<string> {
  const socket = connect({ port, host: "127.0.0.1" });
  let text = "";
  const until = (words: string) =>
    new Promise<void>((resolve, reject) => {
      const look = () => text.includes(words) && resolve();
      socket.on("data", look).once("close", () => reject(new Error(`closed: ${text}`)));
      look();
    });
  socket.on("data", (piece) => (text += piece.toString("latin1"))).on("error", () => {});
  const auth = `host: x\r\nauthorization: Bearer ${apiKey}\r\n`;
  socket.write(
    `POST /v1/responses/input_tokens HTTP/1.1\r\n${auth}content-type: application/json\r\ncontent-length: 13\r\n\r\n{"input":"x"}`,
  );
  await until("input_tokens");
  const head = `GET /v1/responses HTTP/1.1\r\n${auth}connection: Upgrade\r\nupgrade: h2c, websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-protocol: a, b\r\n\r\n`;
  socket.write(Buffer.concat([Buffer.from(head), frameOf(Buffer.from(message))]));
  await until("response.completed");
  socket.destroy();
  return text;
}

/** Reads the frames that a server sends, and returns the code of the last if it closes the connection. */
function closeCode(bytes: Buffer): number {
  for (let at = 0; at + 2 <= bytes.length; ) {
    const opcode = (bytes[at] as number) & 15;
    let length = (bytes[at + 1] as number) & 127;
    let from = at + 2;
    if (length === 126) [length, from] = [bytes.readUInt16BE(at + 2), at + 4];
    else if (length === 127) [length, from] = [Number(bytes.readBigUInt64BE(at + 2)), at + 10];
    if (opcode === 8) return length >= 2 ? bytes.readUInt16BE(from) : 1005;
    at = from + length;
  }
  return 1006;
}
