/**
 * A connection ends however its client leaves, and its calls end with it.
 */
import { once } from "node:events";
import { createServer, request } from "node:http";
import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2 } from "node:http2";
import { type AddressInfo, connect, type Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { type Listener, type ListenOptions, listen } from "../../../src/doors/listener/listen.ts";
import { createStalledReaders } from "../../../src/doors/listener/stalled-readers.ts";
import { sessionEndTurns } from "../../../src/doors/listener/turns.ts";
import { unacknowledgedBytes } from "../../../src/doors/listener/unacknowledged-bytes.ts";
import { eventually } from "../../support/eventually.ts";

/** More bytes than the systems of both ends of a loopback connection hold for a reader that does not read. */
const bufferedBytes = 48 * 1024 * 1024;

interface Port {
  readonly listener: Listener;
  /** The answers that wait, and how many of them have been left by their clients. */
  readonly waiting: number;
  readonly left: number;
}

/** A port that answers `/now` at once, `/long` with more than the system holds, and everything else never. */
async function startPort(options: Partial<ListenOptions> = {}): Promise<Port> {
  let waiting = 0;
  let left = 0;
  const listener = await listen({
    host: "127.0.0.1",
    port: 0,
    handle(req, res) {
      if (req.url === "/now") return void res.end("now");
      waiting++;
      res.on("close", () => {
        waiting--;
        if (!res.writableEnded || !res.writableFinished) left++;
      });
      if (req.url === "/long") res.end(Buffer.alloc(bufferedBytes, "x"));
      else res.writeHead(200).write("begun");
    },
    rejectionBody: (status) => Buffer.from(JSON.stringify({ status })),
    ...options,
  });
  onTestFinished(() => listener.close(0));
  return {
    listener,
    get waiting() {
      return waiting;
    },
    get left() {
      return left;
    },
  };
}

function open(port: number): Socket {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  socket.on("error", () => {});
  onTestFinished(() => void socket.destroy());
  return socket;
}

/** Resolves when the port has ended a connection, or cut it. */
const ended = (socket: Socket) => new Promise((resolve) => socket.once("end", resolve).once("close", resolve));

const preface = Buffer.concat([
  Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
  Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]),
]);

/** Leads to the port through a socket of the test's, so that it can end or break off what a client of HTTP/2 has begun. */
function http2Client(port: number): { readonly session: ClientHttp2Session; readonly socket: Socket } {
  const socket = open(port);
  const session = connectHttp2("http://127.0.0.1", { createConnection: () => socket });
  session.on("error", () => {});
  onTestFinished(() => session.destroy());
  return { session, socket };
}

function ask(session: ClientHttp2Session, path: string): ClientHttp2Stream {
  const stream = session.request({ ":path": path });
  stream.on("error", () => {});
  return stream;
}

const nothing = { undecided: 0, http1: 0, http2: 0, streams: 0 };

/** Resolves when nothing is open on the port any more. */
const allGone = ({ listener }: Port) => eventually(() => expect(listener.counts()).toMatchObject(nothing));

describe("a connection of HTTP/2", () => {
  test("closes when its client has ended its side, however many do", async () => {
    const port = await startPort();
    await Promise.all(
      Array.from({ length: 100 }, async () => {
        const socket = open(port.listener.port);
        socket.write(preface);
        await once(socket, "data");
        socket.end();
        await once(socket.resume(), "end");
      }),
    );
    await allGone(port);
  });

  test("closes in a turn of its own, a few in each, when hundreds end together", async () => {
    const port = await startPort();
    const { counts } = port.listener;
    const sockets = Array.from({ length: 60 }, () => open(port.listener.port).resume());
    for (const socket of sockets) socket.write(preface);
    await eventually(() => expect(counts()).toMatchObject({ http2: 60 }));
    for (const socket of sockets) socket.end();
    let most = 0;
    for (let before = 60; before > 0; ) {
      await nextTurn();
      const { http2 } = counts();
      most = Math.max(most, before - http2);
      before = http2;
    }
    expect(most).toBeLessThanOrEqual(2 * sessionEndTurns.most);
  });

  test("closes when its client has reset it", async () => {
    const port = await startPort();
    const { session, socket } = http2Client(port.listener.port);
    await once(ask(session, "/wait"), "response");
    expect(port.listener.counts()).toMatchObject({ http2: 1, streams: 1 });
    socket.resetAndDestroy();
    await allGone(port);
    expect(port.left).toBe(1);
  });

  test("ends its streams when its client ends its side in the middle of them", async () => {
    const port = await startPort();
    const { session, socket } = http2Client(port.listener.port);
    await Promise.all([once(ask(session, "/wait"), "response"), once(ask(session, "/wait"), "response")]);
    socket.end();
    await allGone(port);
    expect([port.waiting, port.left]).toEqual([0, 2]);
  });

  test("gets a GOAWAY when it has had no streams for too long, and not while it has one", async () => {
    const port = await startPort({ idleMs: 50 });
    const { session } = http2Client(port.listener.port);
    const waiting = ask(session, "/wait");
    await once(waiting, "response");
    const other = http2Client(port.listener.port);
    await once(ask(other.session, "/now"), "response");
    await once(other.session, "goaway");
    expect(session.closed || waiting.closed).toBe(false);
    waiting.close();
    await once(session, "goaway");
    await allGone(port);
  });

  test("is cut when it stays after the GOAWAY", async () => {
    const port = await startPort({ idleMs: 50 });
    const socket = open(port.listener.port).resume();
    socket.write(preface);
    await once(socket, "end");
    await allGone(port); // Though this side was never ended.
    expect(socket.writable).toBe(true);
  });
});

describe("a connection of HTTP/1.1", () => {
  test("that Node's own server answers closes when its client has ended its side", async () => {
    const port = await startPort();
    const socket = open(port.listener.port);
    socket.write("GET /wait HTTP/1.1\r\nhost: h\r\n\r\n");
    await once(socket, "data");
    expect(port.listener.counts()).toMatchObject({ http1: 1, undecided: 0 });
    socket.end();
    await allGone(port);
    expect(port.left).toBe(1);
  });

  test("is closed when it has had no request for too long", async () => {
    const port = await startPort({ idleMs: 1000 });
    const socket = open(port.listener.port);
    socket.write("GET /now HTTP/1.1\r\nhost: h\r\n\r\n");
    const [head] = await once(socket, "data");
    expect(String(head).toLowerCase()).toContain("keep-alive: timeout=1");
    await once(socket.resume(), "end");
    await allGone(port);
  });
});

describe("a reader that stalls", () => {
  const stalledMs = 400;

  test("over HTTP/1.1 is cut, and its answer gets a close event", async () => {
    const port = await startPort({ stalledMs });
    const socket = open(port.listener.port).pause();
    socket.write("GET /long HTTP/1.1\r\nhost: h\r\n\r\n");
    await eventually(() => expect(port.listener.counts().stalled).toBe(1));
    await allGone(port);
    expect([port.waiting, port.left]).toEqual([0, 1]);
  });

  test("over HTTP/2 is cut, even if it still answers pings", async () => {
    const port = await startPort({ stalledMs });
    const { session } = http2Client(port.listener.port);
    const stream = ask(session, "/long");
    await once(stream, "response");
    stream.pause();
    const pinging = setInterval(() => session.destroyed || session.ping(() => {}), 20);
    onTestFinished(() => clearInterval(pinging));
    await eventually(() => expect(port.listener.counts().stalled).toBe(1));
    await eventually(() => expect(port.waiting).toBe(0));
  });

  test("is not cut while it reads slowly, over either protocol", async () => {
    const port = await startPort({ stalledMs });
    const slowUntil = performance.now() + 5 * stalledMs;
    const readSlowly = async (readable: ClientHttp2Stream | Socket) => {
      let bytes = 0;
      readable.on("data", ({ length }: Buffer) => {
        bytes += length;
        if (performance.now() > slowUntil) return;
        readable.pause();
        setTimeout(() => readable.resume(), 10);
      });
      await eventually(() => expect(bytes).toBeGreaterThanOrEqual(bufferedBytes));
    };
    const socket = open(port.listener.port);
    socket.write("GET /long HTTP/1.1\r\nhost: h\r\n\r\n");
    const stream = ask(http2Client(port.listener.port).session, "/long");
    await Promise.all([readSlowly(socket), readSlowly(stream)]);
    expect(port.listener.counts().stalled).toBe(0);
  });
});

/** A frame of HTTP/2: RFC 9113, section 4.1. */
function frame(type: number, flags: number, stream: number, payload = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

describe("a flood over HTTP/2", () => {
  test("of window updates ends its session, and its address may open none for a while", async () => {
    const port = await startPort({ floods: { penaltyMs: 2_000 } });
    const socket = open(port.listener.port).resume();
    const update = frame(8, 0, 0, Buffer.from([0, 0, 0, 1]));
    const much = Buffer.concat(Array<Buffer>(5_000).fill(update));
    const flood = () => {
      while (socket.writable && socket.write(much));
    };
    socket.write(preface);
    socket.on("drain", flood);
    flood();
    await ended(socket);
    expect(port.listener.counts()).toMatchObject({ floods: 1 });
    const next = open(port.listener.port).resume();
    next.write(preface);
    await ended(next);
    await eventually(async () => {
      const session = connectHttp2(`http://127.0.0.1:${port.listener.port}`).on("error", () => {});
      onTestFinished(() => session.destroy());
      const stream = ask(session, "/now");
      const answered = once(stream, "response").then(() => true);
      const closed = once(stream, "close").then(() => false);
      expect(await Promise.race([answered, closed])).toBe(true);
    });
  });

  test("is not a large upload in many small pieces", async () => {
    const port = await startPort({
      handle: async (req, res) => {
        let bytes = 0;
        for await (const chunk of req) bytes += chunk.length;
        res.end(String(bytes));
      },
    });
    const { session } = http2Client(port.listener.port);
    const upload = async (length: number, times: number) => {
      const piece = Buffer.alloc(length);
      const stream = session.request({ ":method": "POST", ":path": "/" });
      for (let i = 0; i < times; i++) if (!stream.write(piece)) await once(stream, "drain");
      stream.end();
      expect(Buffer.concat(await stream.toArray()).toString()).toBe(String(piece.length * times));
    };
    await Promise.all([upload(65_536, 300), upload(100, 3000)]);
    expect(port.listener.counts()).toMatchObject({ floods: 0 });
  });
});

describe("many requests in one read", () => {
  const requests = 500;

  test("begin a few in each turn, in order, over HTTP/1.1", async () => {
    const seen: string[] = [];
    const turns = new Set<number>();
    let turn = 0;
    const count = () => {
      turn++;
      counting = setImmediate(count);
    };
    let counting = setImmediate(count);
    onTestFinished(() => clearImmediate(counting));
    const port = await startPort({
      handle(req, res) {
        seen.push(req.url ?? "");
        turns.add(turn);
        res.end();
      },
    });
    const socket = open(port.listener.port).resume();
    const paths = Array.from({ length: requests }, (_, i) => `/${i}`);
    socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nhost: h\r\n\r\n`).join(""));
    await eventually(() => expect(seen).toEqual(paths));
    expect(turns.size).toBeGreaterThanOrEqual(Math.floor(requests / 32));
  });

  test("over HTTP/2 hardly begin when their client resets them at once", async () => {
    let begun = 0;
    const port = await startPort({ handle: () => void begun++ });
    const socket = open(port.listener.port).resume();
    // Static table, RFC 7541, appendix A: GET, /, http; and a literal authority.
    const headers = Buffer.from([0x82, 0x84, 0x86, 0x01, 0x01, 0x68]);
    const pieces: Buffer[] = [preface];
    for (let id = 1; id < 2 * requests; id += 2) {
      pieces.push(frame(1, 5, id, headers), frame(3, 0, id, Buffer.from([0, 0, 0, 8])));
    }
    socket.write(Buffer.concat(pieces));
    // It has reset more than it may, and is told to calm down.
    await ended(socket);
    expect(begun).toBeLessThan(100);
    await allGone(port);
    // Who comes again at once is not let in.
    expect(port.listener.counts()).toMatchObject({ floods: 1 });
    const again = open(port.listener.port).resume();
    again.write(preface);
    await ended(again);
    expect(begun).toBeLessThan(100);
  });
});

test("sessions that wait for their turn and turn out to break the protocol end, and nobody else notices", async () => {
  const { listener } = await startPort();
  // A frame of DATA on no stream, and another once the session waits.
  const broken = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 0]);
  const sockets = Array.from({ length: 40 }, () => open(listener.port).resume());
  const ends = sockets.map(ended);
  for (const socket of sockets) socket.write(Buffer.concat([preface, broken]));
  for (let i = 0; i < 20; i++) {
    for (const socket of sockets) socket.write(broken);
    await new Promise(setImmediate);
  }
  await Promise.all(ends);
  expect(await (await fetch(`http://127.0.0.1:${listener.port}/now`)).text()).toBe("now");
});

describe("at the bound of connections", () => {
  test("the oldest idle one makes room, and busy ones do not", async () => {
    const port = await startPort({ maxConnections: 3 });
    const running = open(port.listener.port);
    running.write("GET /wait HTTP/1.1\r\nhost: h\r\n\r\n");
    await once(running, "data");
    const [silent, later] = [open(port.listener.port), open(port.listener.port)];
    const isGone = once(silent.resume(), "end");
    await Promise.all([once(silent, "connect"), once(later, "connect")]);
    const answer = await new Promise((resolve, reject) =>
      request({ port: port.listener.port, path: "/now", agent: false }, resolve).on("error", reject).end(),
    );
    expect(answer).toMatchObject({ statusCode: 200 });
    await isGone;
    expect(port.listener.counts()).toMatchObject({ shed: 1 });
    expect(running.readyState).toBe("open");
  });

  test("a new one is closed if all are busy", async () => {
    const port = await startPort({ maxConnections: 1 });
    const running = open(port.listener.port);
    running.write("GET /wait HTTP/1.1\r\nhost: h\r\n\r\n");
    await once(running, "data");
    const late = open(port.listener.port).resume();
    await once(late, "end");
    expect(running.readyState).toBe("open");
  });
});

describe("a stalled reader", () => {
  const stalledMs = 8000;
  const lookMs = stalledMs / 8;

  /** Readers whose numbers are the test's, looked at by a clock that is the test's. */
  function startLooking(first: Partial<Record<"waiting" | "taken" | "carried", number>>[]) {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const table = new Map<string, number>();
    const watching = createStalledReaders({ stalledMs, readTable: async () => table });
    onTestFinished(() => watching.close());
    const readers = first.map(({ waiting = 0, taken, carried }, i) => {
      const numbers = { waiting, taken: taken ?? 0, carried: carried ?? 0, isCut: false };
      watching.watch({
        socket: { localPort: 1, remotePort: i } as Socket,
        waiting: () => numbers.waiting,
        ...(taken === undefined ? {} : { taken: () => numbers.taken }),
        ...(carried === undefined ? {} : { carried: () => numbers.carried }),
        cut: () => {
          numbers.isCut = true;
        },
      });
      return numbers;
    });
    return { readers, table, watching, look: (times: number) => vi.advanceTimersByTimeAsync(times * lookMs) };
  }

  test("is one that has bytes to take, and takes none in time", async () => {
    const { readers, look, watching } = startLooking([{}, { waiting: 10, taken: 0 }, { waiting: 10, taken: 0 }]);
    const [idle, reading, stalled] = readers;
    for (let i = 0; i < 20; i++) {
      if (reading) reading.taken++;
      await look(1);
    }
    expect([idle?.isCut, reading?.isCut, stalled?.isCut, watching.cuts]).toEqual([false, false, true, 1]);
  });

  test("is not one that acknowledges bytes, even if Node sees none taken", async () => {
    const { readers, look, table } = startLooking([
      { waiting: 10, taken: 0 },
      { waiting: 10, taken: 0 },
    ]);
    for (let i = 0; i < 20; i++) {
      table.set("1 0", 1000 - i);
      table.set("1 1", 1000);
      await look(1);
    }
    expect(readers.map(({ isCut }) => isCut)).toEqual([false, true]);
  });

  test("may be a stream whose client still gets answers to its pings", async () => {
    const { readers, look, table } = startLooking([{ waiting: 10, carried: 0 }]);
    for (let i = 0; i < 20; i++) {
      table.set("1 0", i % 2 === 0 ? 0 : 17);
      await look(1);
    }
    expect(readers[0]?.isCut).toBe(true);
  });

  test("is recognised whatever else is written meanwhile", async () => {
    const { readers, look } = startLooking([{ waiting: 10, carried: 0 }]);
    for (let i = 0; i < 20; i++) {
      if (readers[0]) readers[0].waiting += 14;
      await look(1);
    }
    expect(readers[0]?.isCut).toBe(true);
  });

  test("may be a stream of a connection that carries others, after longer the more waits for it", async () => {
    const { readers, look } = startLooking([
      { waiting: 65_536, carried: 0 },
      { waiting: 1, carried: 0 },
    ]);
    const carry = async (times: number) => {
      for (let i = 0; i < times; i++) {
        for (const reader of readers) reader.carried++;
        await look(1);
      }
    };
    await carry(11);
    expect(readers.map(({ isCut }) => isCut)).toEqual([false, true]);
    await carry(8);
    expect(readers.map(({ isCut }) => isCut)).toEqual([true, true]);
  });

  test("is not recognised right after the process was suspended", async () => {
    const { readers, look } = startLooking([{ waiting: 10, taken: 0 }]);
    await look(1);
    vi.setSystemTime(Date.now() + 60_000);
    const now = performance.now();
    vi.spyOn(performance, "now").mockImplementation(() => now + 60_000);
    onTestFinished(() => void vi.restoreAllMocks());
    await look(1);
    expect(readers[0]?.isCut).toBe(false);
  });
});

test("this system reports the unacknowledged bytes of a connection", async () => {
  const server = createServer((_, res) => res.end(Buffer.alloc(bufferedBytes)));
  onTestFinished(() => void server.close());
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const socket = open(port).pause();
  socket.write("GET / HTTP/1.1\r\nhost: h\r\n\r\n");
  await eventually(async () => {
    const table = await unacknowledgedBytes();
    expect(table.get(`${port} ${socket.localPort}`) ?? 0).toBeGreaterThan(process.platform === "linux" ? 0 : -1);
  });
});
