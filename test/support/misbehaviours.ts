/** The ways in which an upstream's answers end in doubt, come in doubt, or do not come. */
import { setTimeout as delay } from "node:timers/promises";
import { another, answered, type Bad, later, type MisbehaviourOptions } from "./misbehaving-server.ts";

export interface Row extends MisbehaviourOptions {
  /** What the upstream does. */
  readonly name: string;
  /** What the caller of it has of our client: its own answer, or a failure; unset where either does. */
  readonly own?: "answer" | "fail";
  /** How often it is played on either lane. */
  readonly rounds?: number;
  /** Of the request to it. */
  readonly body?: Buffer;
  /** Whether the next request is sent only when all has been played. */
  readonly isSettled?: boolean;
  /** Whether it cannot always be known that an answer is another's. */
  readonly isUndecidable?: boolean;
}

type Text = (id: string) => string;

const evil = answered(another);
const head = (id: string, lines: string) => `HTTP/1.1 200 OK\r\nx-call: ${id}\r\n${lines}\r\n`;
const chunkOf = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
const chunked = (id: string, end = "0\r\n\r\n") => `${head(id, "transfer-encoding: chunked\r\n")}${chunkOf(id)}${end}`;

/** Says all of it at once, another's answer behind it. */
const atOnce = (name: string, text: Text, own?: Row["own"]): Row => ({
  ...{ name, ...(own ? { own } : {}) },
  play: ({ id, write }) => write(text(id) + evil),
});

/** Says it, and another's answer a little later, when the connection may carry the next request. */
const thenLater = (name: string, text: Text, own?: Row["own"]): Row => ({
  ...{ name, ...(own ? { own } : {}) },
  async play({ id, write }) {
    await write(text(id));
    await later();
    await write(evil);
  },
});

/** The same both ways. */
const both = (name: string, text: Text, own?: Row["own"]): Row[] => [
  atOnce(name, text, own),
  thenLater(`${name}, and goes on later`, text, own),
];

/** A row in which somebody waits for a time-out. */
const once = (row: Row): Row => ({ ...row, rounds: 1 });

const bodyless = (status: string, lines: string) => (id: string) =>
  `HTTP/1.1 ${status}\r\nx-call: ${id}\r\n${lines}\r\n`;
const framed = (lines: string, body: Text) => (id: string) => head(id, lines) + body(id);
const plain: Text = (id) => id;
const length = (id: string) => `content-length: ${id.length}\r\n`;
const withHead = (lines: string) => (id: string) => `HTTP/1.1 200 OK\r\n${lines}${length(id)}\r\n${id}`;

const bodyInDoubt: readonly Row[] = [
  ...both("answers 204 with a length", bodyless("204 No Content", `content-length: ${evil.length}\r\n`)),
  ...both("answers 304 with a length", bodyless("304 Not Modified", `content-length: ${evil.length}\r\n`)),
  ...both("answers 204 in chunks", bodyless("204 No Content", "transfer-encoding: chunked\r\n")),
  ...both("answers 304 in chunks", bodyless("304 Not Modified", "transfer-encoding: chunked\r\n")),
  ...both(
    "announces a body of an interim answer",
    (id) => `HTTP/1.1 103 Hints\r\nx-call: ${id}\r\ncontent-length: ${evil.length}\r\n\r\n`,
    "fail",
  ),
  ...both("tells two lengths", framed("content-length: 2\r\ncontent-length: 200\r\n", plain), "fail"),
  ...both("tells a list of lengths", framed("content-length: 2, 2\r\n", plain), "fail"),
  ...both(
    "tells a length and chunks",
    framed("content-length: 2\r\ntransfer-encoding: chunked\r\n", (id) => `${chunkOf(id)}0\r\n\r\n`),
    "fail",
  ),
  ...both("names a coding behind chunks", framed("transfer-encoding: chunked, gzip\r\n", plain), "fail").map(once),
  ...both("names chunks twice", framed("transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n", plain), "fail"),
  once(atOnce("names a coding of its own", framed("transfer-encoding: xchunked\r\n", plain), "fail")),
  ...both(
    "answers in chunks by HTTP/1.0",
    (id) => `HTTP/1.0 200 OK\r\nx-call: ${id}\r\ntransfer-encoding: chunked\r\n\r\n${chunkOf(id)}0\r\n\r\n`,
    "fail",
  ),
  atOnce("tells a negative length", framed("content-length: -2\r\n", plain), "fail"),
  atOnce("tells a length of 2^64", framed("content-length: 18446744073709551616\r\n", plain), "fail"),
];

const behind: readonly Row[] = [
  atOnce("says more behind a length", answered, "answer"),
  atOnce("says more behind chunks", (id) => chunked(id), "answer"),
  atOnce("says more behind trailers", (id) => chunked(id, "0\r\nx-end: 1\r\n\r\n"), "answer"),
  atOnce("says more behind no content", bodyless("204 No Content", "")),
  atOnce(
    "says more behind an empty body",
    framed("content-length: 0\r\n", () => ""),
  ),
  atOnce("says more behind early hints", (id) => `HTTP/1.1 103 Hints\r\n\r\n${answered(id)}\r\n`, "answer"),
  {
    ...{ name: "says more by its next write", own: "answer" },
    play({ socket, id }) {
      socket.write(answered(id));
      setImmediate(() => socket.write(evil));
    },
  },
  {
    ...{ name: "says more while its connection is idle", own: "answer", isSettled: true },
    async play({ socket, id, write }) {
      const closed = new Promise((resolve) => socket.once("close", resolve));
      await write(answered(id));
      await later();
      await write(evil);
      await closed;
    },
  },
];

const closing = ["close", "Close", "keep-alive, close", "x,\tCLOSE ,y", "close\r\nconnection: keep-alive"].map(
  (value) =>
    thenLater(
      `says ${JSON.stringify(value)} and does not close`,
      (id) => answered(id, `connection: ${value}\r\n`),
      "answer",
    ),
);

const oldVersion = (more: string) => (id: string) => answered(id, more).replace("HTTP/1.1", "HTTP/1.0");

const kept: readonly Row[] = [
  ...closing,
  thenLater("answers by HTTP/1.0", oldVersion(""), "answer"),
  thenLater("answers by HTTP/1.0 and says both", oldVersion("connection: keep-alive, close\r\n"), "answer"),
  thenLater("keeps connections for no time", (id) => answered(id, "keep-alive: timeout=0\r\n"), "answer"),
];

const chunks: readonly Row[] = [
  ["ends a chunk late", (id: string) => `2\r\n${id}\r\n0\r\n\r\n`],
  ["ends a chunk with LF", (id: string) => `${id.length.toString(16)}\r\n${id}\n0\r\n\r\n`],
  ["ends a size with LF", (id: string) => `${id.length.toString(16)}\n${id}\r\n0\r\n\r\n`],
  ["tells a chunk of 2^64", () => "10000000000000000\r\n"],
  ["tells a chunk of 2^64 with zeros before it", () => "0000000000000010000000000000000\r\n"],
  ["tells a chunk in 0x", () => "0x5\r\nhello\r\n0\r\n\r\n"],
  ["tells a chunk with a sign", () => "+5\r\nhello\r\n0\r\n\r\n"],
  ["tells a negative chunk", () => "-5\r\nhello\r\n0\r\n\r\n"],
  ["tells no size", () => "\r\n0\r\n\r\n"],
  ["has NUL in an extension", (id: string) => `${id.length.toString(16)};a=\0\r\n${id}\r\n0\r\n\r\n`],
  ["has CR in an extension", (id: string) => `${id.length.toString(16)};a=\rb\r\n${id}\r\n0\r\n\r\n`],
  ["has an extension of 10 MB", () => `5;${"a".repeat(10_000_000)}\r\nhello\r\n0\r\n\r\n`],
  ["has a trailer without colon", (id: string) => `${chunkOf(id)}0\r\nHTTP/1.1 200 OK\r\n\r\n`],
  ["has a trailer with space before its colon", (id: string) => `${chunkOf(id)}0\r\nx : y\r\n\r\n`],
  ["has a trailer that ends with LF", (id: string) => `${chunkOf(id)}0\r\nx: y\n\r\n`],
  ["has a folded trailer", (id: string) => `${chunkOf(id)}0\r\nx: y\r\n z\r\n\r\n`],
  ["has NUL in a trailer", (id: string) => `${chunkOf(id)}0\r\nx: \0\r\n\r\n`],
  ["has 1 MB of trailers", (id: string) => `${chunkOf(id)}0\r\n${`x: ${"y".repeat(996)}\r\n`.repeat(1000)}\r\n`],
].map(([name, body]) => atOnce(name as string, framed("transfer-encoding: chunked\r\n", body as Text), "fail"));

const heads: readonly Row[] = [
  ...[
    ["folds a field", "x: a\r\n b\r\n"],
    ["ends a field with LF", "x: a\ny: b\r\n"],
    ["has CR in a value", "x: a\rb\r\n"],
    ["has NUL in a value", "x: a\0b\r\n"],
    ["has NUL in a name", "x\0: a\r\n"],
    ["has a space before a colon", "content-length : 500\r\n"],
    ["has a field without a colon", "content-length\r\n"],
    ["has a field without a name", ": x\r\n"],
    ["has a head of 64 KB", `x: ${"a".repeat(65_536)}\r\n`],
    ["has a head of 1 MB", `x: ${"a".repeat(998)}\r\n`.repeat(1_024)],
  ].map(([name = "", lines = ""]) => atOnce(name, withHead(lines), "fail")),
  ...["HTTP/1.1 2000 OK", "HTTP/1.1 20 OK", "HTTP/2.0 200 OK", "HTTP/1.1200 OK", "HTTP/1.1 200 O\0K", "SSH-2.0-x"].map(
    (line) => atOnce(`begins with ${JSON.stringify(line)}`, (id) => `${line}\r\n${length(id)}\r\n${id}`, "fail"),
  ),
  atOnce("ends all lines with LF", (id) => answered(id).replaceAll("\r\n", "\n"), "fail"),
  atOnce(
    "changes its protocol",
    (id) => `HTTP/1.1 101 Go\r\nupgrade: x\r\nconnection: upgrade\r\nx-call: ${id}\r\n\r\n`,
    "fail",
  ),
];

const hints = "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n";

/** Says the same over and over, for as long as anybody listens. */
const forEver = (text: string, pauseMs: number) => async (bad: Bad) => {
  while (await bad.write(text)) await delay(pauseMs);
};

const endless: readonly Row[] = [
  { name: "says 103 for ever, quickly", own: "fail", rounds: 1, play: forEver(hints.repeat(8), 0) },
  { name: "says 103 for ever, slowly", own: "fail", rounds: 1, play: forEver(hints, 100) },
  {
    ...{ name: "says its head for ever, byte by byte", own: "fail", rounds: 1 },
    async play(bad) {
      if (await bad.write("HTTP/1.1 200 OK\r\nx: ")) await forEver("a", 20)(bad);
    },
  },
  {
    ...{ name: "says a field of its head for ever", own: "fail", rounds: 1 },
    async play(bad) {
      if (await bad.write("HTTP/1.1 200 OK\r\n")) await forEver(`x: ${"a".repeat(1_000)}\r\n`, 0)(bad);
    },
  },
  { name: "says nothing", own: "fail", rounds: 1, play: () => {} },
  {
    name: "says a head and nothing more",
    own: "fail",
    rounds: 1,
    play: ({ id, write }) => write(head(id, length(id))),
  },
  { name: "leaves out the last chunk", own: "fail", rounds: 1, play: ({ id, write }) => write(chunked(id, "")) },
];

const ends: readonly Row[] = [
  { name: "ends its side behind the head", own: "fail", play: ({ socket, id }) => socket.end(head(id, length(id))) },
  { name: "ends its side in its head", own: "fail", play: ({ socket }) => socket.end("HTTP/1.1 200 OK\r\nx: ") },
  { name: "ends its side in a chunk", own: "fail", play: ({ socket, id }) => socket.end(chunked(id, "5\r\nab")) },
  { name: "ends its side before the last chunk", own: "fail", play: ({ socket, id }) => socket.end(chunked(id, "")) },
  { name: "ends its side without a word", own: "fail", play: ({ socket }) => socket.end() },
  { name: "resets without a word", own: "fail", play: ({ socket }) => socket.resetAndDestroy() },
  {
    ...{ name: "resets in a body", own: "fail" },
    async play({ socket, id, write }) {
      await write(head(id, "content-length: 1000\r\n") + id);
      socket.resetAndDestroy();
    },
  },
  {
    ...{ name: "resets in a body that has no other end", own: "fail" },
    async play({ socket, id, write }) {
      await write(head(id, "") + id);
      await later();
      socket.resetAndDestroy();
    },
  },
  { name: "ends a body with its connection", own: "answer", play: ({ socket, id }) => socket.end(head(id, "") + id) },
  { name: "ends its side behind the answer", own: "answer", play: ({ socket, id }) => socket.end(answered(id)) },
];

const early: readonly Row[] = [
  {
    ...{ name: "answers before it has read the request", own: "answer", atHead: true, body: Buffer.alloc(8_000_000) },
    async play({ socket, id, write }) {
      socket.pause();
      await write(answered(id));
      await later();
      await write(evil);
      socket.resume();
    },
  },
  {
    ...{ name: "speaks before it is asked", isUndecidable: true },
    greet: (socket) => socket.write(evil),
    play: ({ id, write }) => write(answered(id)),
  },
];

const sound: readonly Row[] = [
  { name: "says 103 twice", own: "answer", play: ({ id, write }) => write(hints.repeat(2) + answered(id)) },
  {
    ...{ name: "drips its answer byte by byte", own: "answer", rounds: 1 },
    async play({ id, write }) {
      for (const byte of chunked(id)) {
        await write(byte);
        await delay(1);
      }
    },
  },
];

export const rows: readonly Row[] = [
  ...[...bodyInDoubt, ...behind, ...kept, ...chunks],
  ...[...heads, ...endless, ...ends, ...early, ...sound],
];
