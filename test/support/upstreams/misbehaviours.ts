/** The ways in which an upstream's answers end in doubt, come in doubt, or do not come. */
import { setTimeout as delay } from "node:timers/promises";
import { answered, type Bad, later } from "./misbehaving-server.ts";
import { atOnce, bodyless, chunked, evil, framed, head, length, type Row, thenLater } from "./misbehaviour.ts";
import { misframings } from "./misframings.ts";

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

const hints = "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n";

/** Says the same over and over, for as long as anybody listens. */
const forEver = (text: string, pauseMs: number) => async (bad: Bad) => {
  while (await bad.write(text)) await delay(pauseMs);
};

const endless: readonly Row[] = [
  { name: "says 103 for ever, quickly", own: "fail", rounds: 1, play: forEver(hints.repeat(8), 0) },
  { name: "says 103 for ever, slowly", own: "fail", isTimedOut: true, play: forEver(hints, 100) },
  {
    ...{ name: "says its head for ever, byte by byte", own: "fail", isTimedOut: true },
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
  { name: "says nothing", own: "fail", isTimedOut: true, play: () => {} },
  {
    name: "says a head and nothing more",
    own: "fail",
    isTimedOut: true,
    play: ({ id, write }) => write(head(id, length(id))),
  },
  { name: "leaves out the last chunk", own: "fail", isTimedOut: true, play: ({ id, write }) => write(chunked(id, "")) },
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
        // A turn and not a time: on a busy machine many short waits are a long one.
        await new Promise(setImmediate);
      }
    },
  },
];

export const rows: readonly Row[] = [...misframings, ...behind, ...kept, ...endless, ...ends, ...early, ...sound];
