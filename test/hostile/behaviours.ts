/**
 * How the upstreams answer, well and badly, by the model that they are asked for. The last message, or the input, is the
 * behaviour's parameter.
 */
import type { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { drained } from "./raw.ts";

export interface Asked {
  readonly model: string;
  /** The last message, or the input. */
  readonly text: string;
  readonly stream: boolean;
}

type Behaviour = (socket: Socket, asked: Asked) => void | Promise<void>;

const json = "content-type: application/json\r\n";
const events = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

/** What a short answer of the upstream costs: told as its usage. */
const usage = { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 };
/** What `bill` tells last: nearly all of it was reasoned, and none of that was streamed. */
export const billed = {
  prompt_tokens: 10,
  completion_tokens: 20_001,
  total_tokens: 20_011,
  completion_tokens_details: { reasoning_tokens: 20_000 },
};
/** How long after the first content `bill` tells its usage. */
export const billedAfterMs = 60;

function whole(socket: Socket, body: unknown, status = 200): void {
  const bytes = Buffer.from(JSON.stringify(body));
  socket.write(`HTTP/1.1 ${status} Word\r\n${json}content-length: ${bytes.length}\r\n\r\n`);
  socket.write(bytes);
}

function completion(content: string, told: unknown = usage) {
  const message = { role: "assistant", content };
  const choices = [{ index: 0, message, logprobs: null, finish_reason: "stop" }];
  return { id: "chatcmpl-h", object: "chat.completion", created: 1, model: "h", choices, usage: told };
}

function chunk(delta: object, finish_reason: string | null = null, more: object = {}): string {
  const choices = [{ index: 0, delta, logprobs: null, finish_reason }];
  const value = { id: "chatcmpl-h", object: "chat.completion.chunk", created: 1, model: "h", choices, ...more };
  return `data: ${JSON.stringify(value)}\n\n`;
}

const usageChunk = (told: unknown) => chunk({}, null, { choices: [], usage: told });
const opening = chunk({ role: "assistant", content: "a" });
const last = `${chunk({}, "stop")}${usageChunk(usage)}data: [DONE]\n\n`;

/** Writes a chunk of HTTP, and waits while the socket is full. Returns whether the socket is still there. */
async function write(socket: Socket, text: string | Uint8Array): Promise<boolean> {
  const bytes = Buffer.from(text as string);
  socket.write(`${bytes.length.toString(16)}\r\n`);
  socket.write(bytes);
  return drained(socket, socket.write("\r\n"));
}

function endChunks(socket: Socket): void {
  socket.write("0\r\n\r\n");
}

/** Writes the same bytes until so much has been written, or the socket is gone. */
async function repeat(socket: Socket, bytes: Uint8Array, total: number): Promise<void> {
  for (let sent = 0; sent < total; sent += bytes.length) {
    if (!(await drained(socket, socket.write(bytes)))) return;
  }
}

const megabyte = 2 ** 20;

/** Says the text again, whole or in a stream. */
const calm: Behaviour = async (socket, { text, stream }) => {
  if (!stream) return whole(socket, completion(text));
  socket.write(events);
  await write(socket, chunk({ role: "assistant", content: text }) + last);
  endChunks(socket);
};

/** Streams so many megabytes, as fast as they are read; hardly any of it is text, whose tokens somebody might have to count. */
const long: Behaviour = async (socket, { text }) => {
  socket.write(events);
  const piece = chunk({ role: "assistant", content: "a" }, null, { padding: "lorem ipsum ".repeat(1_300) }).repeat(4);
  const pieces = Math.ceil((Number(text) * megabyte) / piece.length);
  for (let i = 0; i < pieces; i++) if (!(await write(socket, piece))) return;
  await write(socket, last);
  endChunks(socket);
};

/** Streams four megabytes of text, and tells no usage. */
const untold: Behaviour = async (socket) => {
  socket.write(events);
  const piece = chunk({ role: "assistant", content: "lorem ipsum ".repeat(5_000) });
  for (let sent = 0; sent < 4 * megabyte; sent += piece.length) if (!(await write(socket, piece))) return;
  await write(socket, `${chunk({}, "stop")}data: [DONE]\n\n`);
  endChunks(socket);
};

/** Streams one piece, and then nothing for as long as anybody waits. */
const quiet: Behaviour = async (socket) => {
  socket.write(events);
  await write(socket, opening);
};

const bill: Behaviour = async (socket) => {
  socket.write(events);
  await write(socket, opening);
  await delay(billedAfterMs);
  await write(socket, `${chunk({}, "stop") + usageChunk(billed)}data: [DONE]\n\n`);
  endChunks(socket);
};

/** Tells a usage that is a number by its text, whatever was asked. */
const greedy: Behaviour = async (socket, { text, stream }) => {
  const told = `{"prompt_tokens":${text},"completion_tokens":${text},"total_tokens":${text}}`;
  const mark = '"told"';
  if (!stream) {
    const body = JSON.stringify(completion("a", "told")).replace(mark, told);
    return void socket.write(`HTTP/1.1 200 OK\r\n${json}content-length: ${body.length}\r\n\r\n${body}`);
  }
  socket.write(events);
  await write(socket, `${opening + chunk({}, "stop") + usageChunk("told").replace(mark, told)}data: [DONE]\n\n`);
  endChunks(socket);
};

/** Answers with a text of so many bytes. */
const kept: Behaviour = (socket, { text }) => whole(socket, completion("a".repeat(Number(text) || 1)));

const sink: Behaviour = (socket) => whole(socket, completion("a"));

const vector: Behaviour = (socket) =>
  whole(socket, {
    object: "list",
    model: "h",
    data: [{ object: "embedding", index: 0, embedding: [0.5, -0.5] }],
    usage: { prompt_tokens: 1, total_tokens: 1 },
  });

/** Answers embeddings with the same member over and over, so many megabytes of it. */
const outline: Behaviour = async (socket, { text }) => {
  const [head, tail] = ['{"object":"list","data":[', "}"];
  const member = '"embedding":[';
  const count = Math.floor((Number(text) * megabyte) / member.length);
  socket.write(`HTTP/1.1 200 OK\r\n${json}content-length: ${head.length + count * member.length + 1}\r\n\r\n${head}`);
  const many = 4_096;
  for (let left = count; left > 0 && !socket.destroyed; left -= many) {
    await drained(socket, socket.write(member.repeat(Math.min(many, left))));
  }
  socket.write(tail);
};

const endlessMegabytes = 64;

const endlessHead: Behaviour = async (socket) => {
  socket.write("HTTP/1.1 200 OK\r\n");
  await repeat(socket, Buffer.from(`x-more: ${"a".repeat(1_000)}\r\n`.repeat(16)), endlessMegabytes * megabyte);
};

const endlessInterim: Behaviour = async (socket) => {
  await repeat(
    socket,
    Buffer.from("HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n".repeat(256)),
    endlessMegabytes * megabyte,
  );
};

/** Streams frames of 16 MB each. */
const bigFrames: Behaviour = async (socket) => {
  socket.write(events);
  const frame = chunk({ role: "assistant", content: "a".repeat(16 * megabyte) });
  for (let i = 0; i < 4; i++) if (!(await write(socket, frame))) return;
  await write(socket, last);
  endChunks(socket);
};

/** A line of a stream that never ends. */
const endlessLine: Behaviour = async (socket) => {
  socket.write(events);
  const piece = "a".repeat(megabyte);
  await write(socket, `${opening}data: {"choices":[{"delta":{"content":"`);
  for (let i = 0; i < endlessMegabytes; i++) if (!(await write(socket, piece))) return;
};

/** A stream whose every byte is a chunk and a packet of its own. */
const bytewise: Behaviour = async (socket) => {
  socket.write(events);
  for (const byte of opening + chunk({ content: "b".repeat(1_000) }) + last) {
    if (!(await write(socket, byte))) return;
    await delay(0);
  }
  endChunks(socket);
};

/** Nothing but comments, for as long as anybody listens. */
const comments: Behaviour = async (socket) => {
  socket.write(events);
  await write(socket, opening);
  const piece = ":\n\n: keep\n".repeat(6_000);
  for (let i = 0; i < 500; i++) if (!(await write(socket, piece))) return;
};

const answered = (text: string) => {
  const body = JSON.stringify(completion(text));
  return `HTTP/1.1 200 OK\r\n${json}content-length: ${body.length}\r\n\r\n${body}`;
};

/** Answers that end in doubt, by kind; each leaves something that a next request on the connection could take for its own. */
const framings: Readonly<Record<string, (another: string) => string>> = {
  "204-length": (another) => `HTTP/1.1 204 No Content\r\ncontent-length: ${another.length}\r\n\r\n${another}`,
  "304-length": (another) => `HTTP/1.1 304 Not Modified\r\ncontent-length: ${another.length}\r\n\r\n${another}`,
  "204-chunked": (another) => `HTTP/1.1 204 No Content\r\ntransfer-encoding: chunked\r\n\r\n${another}`,
  "more-after-end": (another) => answered("mine") + another,
  "more-after-chunks": (another) =>
    `HTTP/1.1 200 OK\r\n${json}transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n${another}`,
  "two-lengths": (another) => `HTTP/1.1 200 OK\r\n${json}content-length: 2\r\ncontent-length: 200\r\n\r\n{}${another}`,
  "length-and-chunks": (another) =>
    `HTTP/1.1 200 OK\r\n${json}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n${another}`,
  "early-next": (another) => `HTTP/1.1 103 Early Hints\r\n\r\n${answered("mine")}\r\n${another}`,
};
export const framingKinds = Object.keys(framings);

/** Of these the head alone raises the doubt, so that what follows may come when the connection serves another call. */
const doubtfulHeads = ["204-length", "304-length", "204-chunked", "two-lengths", "length-and-chunks"];
const laterMs = 2;

/** `bad KIND`: an answer that ends in doubt, and another behind it. Anything else is said again. */
const framing: Behaviour = async (socket, { text }) => {
  const kind = /^bad (\S+)/.exec(text)?.[1] ?? "";
  const another = answered("another's");
  const bad = framings[kind]?.(another);
  if (bad === undefined) return whole(socket, completion(text));
  if (!doubtfulHeads.includes(kind)) return void socket.write(bad);
  socket.write(bad.slice(0, -another.length));
  await delay(laterMs);
  socket.write(another);
};

/** Says what its text says: an error with its status, or the events of a stream. */
const ant: Behaviour = async (socket, { text }) => {
  const { status, body, stream } = JSON.parse(text) as { status?: number; body?: unknown; stream?: unknown[] };
  if (!stream) return whole(socket, body, status);
  socket.write(events);
  for (const event of stream) await write(socket, `data: ${JSON.stringify(event)}\n\n`);
  endChunks(socket);
};

export const behaviours: Readonly<Record<string, Behaviour>> = {
  ...{ calm, long, untold, quiet, bill, greedy, kept, sink, vector, outline },
  // What is sent to these is fitted to what their servers take.
  ...{ strict: sink, rooted: sink },
  ...{ endlessHead, endlessInterim, bigFrames, endlessLine, bytewise, comments, framing, ant },
  ...{ dear: calm, cheap: calm },
};
