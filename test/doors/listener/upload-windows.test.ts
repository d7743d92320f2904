/**
 * Over HTTP/2 a client may send as much as its windows let it before the gateway has read that: wide windows for uploads of few streams, over a
 * distance, narrow ones for many, and a bound for all that nobody has read.
 */
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { type ClientHttp2Session, type ClientHttp2Stream, connect, type Http2ServerRequest } from "node:http2";
import { type AddressInfo, createServer, type Socket, connect as tcpConnect } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Listener, listen } from "../../../src/doors/listener/listen.ts";
import { data, type Fields, type H2Client, headers, openH2 } from "../../hostile/h2.ts";
import { drained } from "../../hostile/raw.ts";
import { eventually } from "../../support/eventually.ts";

const mebibyte = 2 ** 20;
const narrow = 65_535;
const ofClient = { maxSessionMemory: 1024 };

/** Answers with the length of the body, or, at `/unread`, reads nothing of it until `release` is called. */
let release: () => void;
let released: Promise<void>;
/** The requests that wait for it. */
const waiting: Http2ServerRequest[] = [];
async function handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
  if (req.url === "/refused") return void res.writeHead(429).end();
  if (req.url === "/unread") {
    waiting.push(req as unknown as Http2ServerRequest);
    await released;
  }
  let bytes = 0;
  for await (const piece of req) bytes += piece.length;
  res.end(String(bytes));
}

let listener: Listener;
const sessions: ClientHttp2Session[] = [];
beforeEach(async () => {
  waiting.length = 0;
  released = new Promise((resolve) => {
    release = resolve;
  });
  const rejectionBody = () => Buffer.alloc(0);
  const isThere = (req: IncomingMessage, res: ServerResponse) => void handle(req, res).catch(() => {});
  listener = await listen({ host: "127.0.0.1", port: 0, handle: isThere, rejectionBody });
});
afterEach(async () => {
  release();
  for (const session of sessions.splice(0)) session.destroy();
  await listener.close(0);
});

async function open(port = listener.port): Promise<ClientHttp2Session> {
  const session = connect(`http://127.0.0.1:${port}`, ofClient).on("error", () => {});
  sessions.push(session);
  await once(session, "remoteSettings");
  return session;
}

function upload(session: ClientHttp2Session, bytes: number, path = "/"): ClientHttp2Stream {
  const stream = session.request({ ":method": "POST", ":path": path }).on("error", () => {});
  stream.end(Buffer.alloc(bytes, "x"));
  return stream;
}

/** Returns how many bytes of the bodies of requests have come, and were not read. */
const lengthOf = (requests: Http2ServerRequest[]) =>
  requests.reduce((sum, { stream }) => sum + stream.readableLength, 0);

const widthOf = (session: ClientHttp2Session) => session.remoteSettings.initialWindowSize;

/** Sends what makes a session wide, and returns when it is. */
async function widen(session: ClientHttp2Session): Promise<void> {
  expect(await text(upload(session, mebibyte))).toBe(String(mebibyte));
  await eventually(() => expect(widthOf(session)).toBe(mebibyte));
}

test("an upload over a distance has more than a megabyte under way", async () => {
  const distance = await openDistance(listener.port);
  const session = await open(distance.port);
  expect(await text(upload(session, 8 * mebibyte))).toBe(String(8 * mebibyte));
  expect(distance.most()).toBeGreaterThan(mebibyte);
  distance.close();
});

test("small bodies change nothing", async () => {
  const session = await open();
  for (let i = 0; i < 5; i++) expect(await text(upload(session, 20_000))).toBe("20000");
  expect(widthOf(session)).toBe(narrow);
});

test("streams that open narrow the windows of all, and these widen again for few", async () => {
  const session = await open();
  await widen(session);
  const unread = Array.from({ length: 40 }, () => upload(session, 100, "/unread"));
  await eventually(() => expect(widthOf(session)).toBeLessThanOrEqual(mebibyte / 4));
  const more = Array.from({ length: 160 }, () => upload(session, 100, "/unread"));
  await eventually(() => expect(widthOf(session)).toBe(narrow));
  release();
  for (const stream of [...unread, ...more]) expect(await text(stream)).toBe("100");
  await eventually(async () => {
    await text(upload(session, mebibyte));
    expect(widthOf(session)).toBe(mebibyte);
  });
});

describe("what nobody has read", () => {
  test("narrows the windows of every session, and these widen again once it is read", async () => {
    const [one, other] = [await open(), await open()];
    await widen(one);
    await widen(other);
    const unread = Array.from({ length: 15 }, () => upload(one, mebibyte, "/unread"));
    await eventually(() => expect([widthOf(one), widthOf(other)]).toEqual([narrow, narrow]));
    release();
    for (const stream of unread) expect(await text(stream)).toBe(String(mebibyte));
    await eventually(async () => {
      await text(upload(other, mebibyte));
      expect(widthOf(other)).toBe(mebibyte);
    });
  });

  test("may be as much as narrow windows let come, on any number of sessions", async () => {
    const several = [await open(), await open(), await open()];
    for (const session of several) await widen(session);
    const unread = several.flatMap((session) => Array.from({ length: 240 }, () => upload(session, narrow, "/unread")));
    const answers = Promise.all(unread.map(text));
    await eventually(() => expect(lengthOf(waiting)).toBe(unread.length * narrow));
    release();
    expect(await answers).toEqual(unread.map(() => String(narrow)));
  });

  test("has a bound, beyond which the session with most of it is cut, and no other", async () => {
    const other = await open();
    await widen(other);
    const kept = upload(other, mebibyte / 2, "/unread");
    const hostile = await openH2(listener.port, { acknowledges: 2 });
    expect(await fillUnread(hostile)).toBeLessThan(40 * mebibyte);
    await eventually(() => expect(hostile.socket.destroyed).toBe(true));
    release();
    expect(await text(kept)).toBe(String(mebibyte / 2));
  });
});

test("however many sessions are wide, each may have under way what HTTP/2 begins with", async () => {
  const many = await Promise.all(Array.from({ length: 300 }, () => open()));
  const unread = many.map((session) => upload(session, narrow - 1, "/unread"));
  const answers = Promise.all(unread.map(text));
  await eventually(() => expect(many.map(widthOf)).toEqual(many.map(() => mebibyte)));
  for (const session of many) expect(session.state.remoteWindowSize).toBeGreaterThan(narrow / 2);
  const more = many.map((session) => upload(session, mebibyte / 4));
  expect(await Promise.all(more.map(text))).toEqual(more.map(() => String(mebibyte / 4)));
  for (const session of many) expect(session.state.remoteWindowSize).toBeGreaterThan(narrow / 2);
  release();
  expect(await answers).toEqual(unread.map(() => String(narrow - 1)));
});

test("a client whose uploads are refused may have sent what its windows let it", async () => {
  const distance = await openDistance(listener.port);
  const session = await open(distance.port);
  await widen(session);
  for (let i = 0; i < 4; i++) {
    const refused = Array.from({ length: 6 }, () => upload(session, 4 * mebibyte, "/refused"));
    for (const stream of refused) await once(stream, "response");
    expect(await text(upload(session, 100))).toBe("100");
  }
  expect(widthOf(session)).toBe(narrow);
  expect(listener.counts().floods).toBe(0);
  distance.close();
});

test("a client whose requests are refused after they have come keeps its wide windows", async () => {
  const { socket, windows, ended } = await openH2(listener.port);
  socket.write(Buffer.concat([headers(1, post("/unread")), data(1, Buffer.alloc(50_000), false)]));
  await eventually(() => expect(windows.stream).toBe(mebibyte));
  for (let id = 3; id < 43; id += 2) {
    socket.write(Buffer.concat([headers(id, post("/refused")), data(id, Buffer.alloc(100))]));
    await eventually(() => expect(ended.has(id)).toBe(true));
  }
  expect(windows.stream).toBe(mebibyte);
  socket.destroy();
});

const post = (path: string): Fields => [
  [":method", "POST"],
  [":scheme", "http"],
  [":path", path],
  [":authority", "h"],
];
const piece = Buffer.alloc(16_384, "x");

/**
 * Has a session be wide, and fills one stream after another as far as that lets it, whatever it is told then, until it is cut. Returns how many
 * bytes were sent.
 */
async function fillUnread({ socket, windows, goneAway }: H2Client): Promise<number> {
  const isOver = () => socket.destroyed || goneAway() !== undefined;
  socket.write(Buffer.concat([headers(1, post("/unread")), data(1, Buffer.alloc(50_000), false)]));
  await eventually(() => expect(windows.stream).toBe(mebibyte));
  let sent = 50_000;
  for (let id = 3; id < 200; id += 2) {
    socket.write(headers(id, post("/unread")));
    for (let ofStream = 0; ofStream < mebibyte && !isOver(); ofStream += piece.length) {
      await eventually(() => expect(isOver() || windows.connection >= sent + piece.length).toBe(true));
      sent += piece.length;
      if (!socket.write(data(id, piece, false))) await drained(socket, false);
    }
  }
  return sent;
}

interface Distance {
  readonly port: number;
  /** Returns the most bytes that were under way to the gateway at a time. */
  most(): number;
  close(): void;
}

/** Passes on what comes after 25 ms, either way. */
async function openDistance(to: number): Promise<Distance> {
  let [underWay, most] = [0, 0];
  const sockets = new Set<Socket>();
  const passOn = (from: Socket, into: Socket, count: (bytes: number) => void) => {
    sockets.add(from);
    from.on("error", () => {}).on("close", () => into.destroy());
    from.on("data", (piece) => {
      count(piece.length);
      setTimeout(() => {
        count(-piece.length);
        into.write(piece);
      }, 25);
    });
  };
  const server = createServer({ noDelay: true }, (near) => {
    const far = tcpConnect({ port: to, host: "127.0.0.1", noDelay: true });
    passOn(far, near, () => {});
    passOn(near, far, (bytes) => {
      underWay += bytes;
      most = Math.max(most, underWay);
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    most: () => most,
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
