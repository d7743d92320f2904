/**
 * Connections to upstreams: an answer is read to the same however its bytes are cut, one that is not understood is broken off,
 * and a connection is used again exactly where both sides keep it.
 */

import { execFileSync, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer as createSecureServer, getCACertificates, setDefaultCACertificates } from "node:tls";
import { Worker } from "node:worker_threads";
import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { ChunkedDecoder, encodeChunk, encodeLastChunk } from "../../src/http1/chunked.ts";
import {
  createConnectionPool,
  type ReplyHandler,
  type SentRequest,
  type UpstreamClient,
} from "../../src/http1/client/index.ts";

/** Makes certificates. */
const hasOpenssl = spawnSync("openssl", ["version"]).status === 0;

const undo: (() => unknown)[] = [];

afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

describe("chunks", () => {
  const pieces = fc.array(fc.uint8Array({ minLength: 1, maxLength: 40 }), { maxLength: 8 });

  test("are read to what was written, however they are cut", () => {
    const cuts = fc.array(fc.nat(400), { maxLength: 12 });
    fc.assert(
      fc.property(pieces, cuts, fc.boolean(), (written, places, hasTrailers) => {
        const end = encodeLastChunk(hasTrailers ? "x-one: 1\r\nx-two: 2\r\n" : "");
        const all = Buffer.concat([
          ...written.map((piece) => encodeChunk("", Buffer.from(piece))),
          Buffer.from(`${end}more`),
        ]);
        const reader = new ChunkedDecoder();
        const read: Buffer[] = [];
        let taken = 0;
        const bounds = [...places.map((place) => place % all.length).sort((a, b) => a - b), all.length];
        let from = 0;
        for (const to of bounds) {
          taken += reader.decode(all.subarray(from, to), read);
          from = to;
        }
        expect(reader.isComplete).toBe(true);
        expect(taken).toBe(all.length - "more".length);
        expect(Buffer.concat(read)).toEqual(Buffer.concat(written.map((piece) => Buffer.from(piece))));
      }),
    );
  });

  test.each([
    "x\r\n",
    "5;a=b\rc\r\n",
    "-1\r\na",
    "123456789\r\n",
    "5 \r\n",
    "5; a\r\n",
    '5;a="b\r\n',
    "0\r\nx\r\n",
    "0\r\nx: a\0\r\n",
    "0\r\ncontent-length: 5\r\n",
    "1\r\nab\r\n",
    "1\r\na\n",
    "1\n",
    "\r\n",
    `0\r\n${"x".repeat(20_000)}`,
  ])("that are none are refused: %j", (text) => {
    const reader = new ChunkedDecoder();
    expect(() => reader.decode(Buffer.from(text), [])).toThrow(RangeError);
  });

  test("may have extensions, and sizes in capitals", () => {
    const reader = new ChunkedDecoder();
    const read: Buffer[] = [];
    reader.decode(Buffer.from('A;x=y;z;q="a \\" b"\r\n0123456789\r\n000\r\n\r\n'), read);
    expect(String(Buffer.concat(read))).toBe("0123456789");
    expect(reader.isComplete).toBe(true);
  });
});

const usual = { connectMs: 5_000, firstByteMs: 5_000, idleMs: 5_000 };

interface Told {
  status?: number;
  fields?: unknown;
  body: string;
  end?: "ended" | Error | string;
}

/** Answers each request with what the script says for it; each piece is one write. */
async function upstream(script: (socket: Socket, count: number) => void, timeouts = usual) {
  const sockets: Socket[] = [];
  let requests = 0;
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.push(socket);
    socket.on("error", () => {});
    socket.on("data", (bytes) => {
      if (bytes.includes("\r\n\r\n")) script(socket, ++requests);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  undo.push(
    () => server.close(),
    () => {
      for (const socket of sockets) socket.destroy();
    },
  );
  const pool = createConnectionPool(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, timeouts);
  undo.push(() => pool.close());
  return { pool, sockets };
}

function ask(pool: UpstreamClient, onSent: (connection: SentRequest) => void = () => {}): Promise<Told> {
  return new Promise((resolve) => {
    const told: Told = { body: "" };
    const over = (end: Told["end"] & {}) => resolve({ ...told, end });
    const replies: ReplyHandler = {
      isCancelled: false,
      onSent: onSent,
      onHead: (status, fields) => void Object.assign(told, { status, fields }),
      onBody(pieces) {
        told.body += Buffer.concat(pieces).toString();
      },
      onEnd: () => over("ended"),
      onError: over,
      onTimeout: over,
    };
    pool.send({ method: "POST", path: "/x", fields: { "x-one": "1" }, body: Buffer.from("{}") }, replies);
  });
}

async function inPieces(socket: Socket, text: string, size: number): Promise<void> {
  for (let at = 0; at < text.length; at += size) {
    await new Promise((resolve) => socket.write(text.slice(at, at + size), resolve));
    await new Promise(setImmediate);
  }
}

describe("an answer", () => {
  const ways: readonly [string, string][] = [
    ["with a length", "HTTP/1.1 200 OK\r\nContent-Length: 11\r\nX-Two: a\r\nx-two: b\r\n\r\nhello world"],
    [
      "in chunks",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\nX-Two: a\r\nx-two: b\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n",
    ],
    [
      "behind another that only announces it",
      "HTTP/1.1 103 Early\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 11\r\nx-two: a\r\nx-two: b\r\n\r\nhello world",
    ],
  ];
  test.each(ways.flatMap(([way, text]) => [1, 3, 7, 1000].map((size) => [way, size, text] as const)))(
    "%s is read to the same in pieces of %i bytes, and its connection used again",
    async (_, size, text) => {
      const { pool, sockets } = await upstream((socket) => void inPieces(socket, text, size));
      for (let i = 0; i < 2; i++) {
        const told = await ask(pool);
        expect(told).toMatchObject({ status: 200, body: "hello world", end: "ended" });
        expect(told.fields).toMatchObject({ "x-two": ["a", "b"] });
      }
      expect(sockets).toHaveLength(1);
    },
  );

  test.each([
    ["that says so", "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok"],
    ["that says so in a list", "HTTP/1.1 200 OK\r\nconnection: x ,\tClose\r\ncontent-length: 2\r\n\r\nok"],
    ["of HTTP/1.0", "HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok"],
    ["with more behind it than it told", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok, and more"],
    ["whose server keeps nothing", "HTTP/1.1 200 OK\r\nkeep-alive: timeout=1\r\ncontent-length: 2\r\n\r\nok"],
  ])("%s is the last of its connection", async (_, text) => {
    const { pool, sockets } = await upstream((socket) => void socket.write(text));
    for (let i = 0; i < 2; i++) expect(await ask(pool)).toMatchObject({ body: "ok", end: "ended" });
    expect(sockets).toHaveLength(2);
  });

  test.each([
    [32, "ended"],
    [33, expect.any(Error)],
  ])("behind %i that only announce it is read, or refused", async (count, end) => {
    const text = `${"HTTP/1.1 103 Early\r\n\r\n".repeat(count)}HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok`;
    const { pool } = await upstream((socket) => void socket.write(text));
    expect((await ask(pool)).end).toEqual(end);
  });

  test("without length or chunks ends with the connection", async () => {
    const { pool } = await upstream((socket) => void socket.end("HTTP/1.1 200 OK\r\n\r\nto the end"));
    expect(await ask(pool)).toMatchObject({ body: "to the end", end: "ended" });
  });

  test.each([204, 304])("of status %i has no body", async (status) => {
    const { pool, sockets } = await upstream((socket) => void socket.write(`HTTP/1.1 ${status} x\r\n\r\n`));
    for (let i = 0; i < 2; i++) expect(await ask(pool)).toMatchObject({ status, body: "", end: "ended" });
    expect(sockets).toHaveLength(1);
  });

  test.each([
    ["another protocol", "SSH-2.0-x\r\n"],
    ["lines that end in LF alone", "HTTP/1.1 200 OK\ncontent-length: 2\n\nok"],
    ["a status that is none", "HTTP/1.1 2000 OK\r\n\r\n"],
    ["a length and chunks", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\nok"],
    ["two lengths", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 2\r\n\r\nok"],
    ["a length that is none", "HTTP/1.1 200 OK\r\ncontent-length: -2\r\n\r\nok"],
    ["a coding that nobody knows", "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\nok"],
    ["a folded line", "HTTP/1.1 200 OK\r\nx: a\r\n b\r\n\r\n"],
    ["a change of protocol", "HTTP/1.1 101 Go\r\nupgrade: x\r\n\r\n"],
    ["a head without end", `HTTP/1.1 200 OK\r\nx: ${"a".repeat(70_000)}`],
    ["a chunk that is none", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n"],
  ])("with %s is not taken for one", async (_, text) => {
    const { pool, sockets } = await upstream((socket) => void socket.write(text));
    expect((await ask(pool)).end).toBeInstanceOf(Error);
    await ask(pool);
    expect(sockets).toHaveLength(2);
  });

  test("that breaks off has what came of it, and fails", async () => {
    const { pool } = await upstream((socket) => void socket.end("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf"));
    expect(await ask(pool)).toMatchObject({ body: "half", end: { code: "ECONNRESET" } });
  });

  test("with what came before a bad chunk hands that over", async () => {
    const text = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\nzz\r\n";
    const { pool } = await upstream((socket) => void socket.write(text));
    expect(await ask(pool)).toMatchObject({ body: "ok", end: expect.any(RangeError) });
  });

  test.each([
    ["firstByteMs", ""],
    ["idleMs", "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf"],
  ])("whose %s does not come in time is told late", async (part, text) => {
    const limits = { connectMs: 5_000, firstByteMs: 600, idleMs: 600 };
    const { pool } = await upstream((socket) => void socket.write(text), limits);
    expect((await ask(pool)).end).toBe(part);
  });
});

describe("a connection", () => {
  const ok = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

  test("is made for each request that runs beside others, and all are kept", async () => {
    const { pool, sockets } = await upstream((socket) => void socket.write(ok));
    for (let i = 0; i < 2; i++) await Promise.all([ask(pool), ask(pool), ask(pool)]);
    expect(sockets).toHaveLength(3);
  });

  test("that its server has closed meanwhile is not used again", async () => {
    const { pool, sockets } = await upstream((socket) => void socket.write(ok));
    await ask(pool);
    const closed = new Promise((resolve) => sockets[0]?.once("close", resolve));
    sockets[0]?.end();
    await closed;
    expect(await ask(pool)).toMatchObject({ body: "ok", end: "ended" });
    expect(sockets).toHaveLength(2);
  });

  test("that is told something between two requests is not used again", async () => {
    const { pool, sockets } = await upstream((socket) => void socket.write(ok));
    await ask(pool);
    const closed = new Promise((resolve) => sockets[0]?.once("close", resolve));
    sockets[0]?.write("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nfake");
    await closed;
    expect(await ask(pool)).toMatchObject({ body: "ok", end: "ended" });
  });

  test("that nobody uses ends after some seconds", async () => {
    const { pool, sockets } = await upstream(
      (socket) => void socket.write(ok.replace("\r\n\r\n", "\r\nkeep-alive: timeout=2\r\n\r\n")),
    );
    await ask(pool);
    await new Promise((resolve) => sockets[0]?.once("close", resolve));
  });

  test("that is broken off tells nothing more", async () => {
    const { pool, sockets } = await upstream((socket) => void socket.write(ok));
    let told = 0;
    const count = () => void told++;
    const others = { onBody: count, onEnd: count, onError: count, onTimeout: count };
    let connection: SentRequest | undefined;
    const replies: ReplyHandler = {
      ...{ ...others, isCancelled: false },
      onSent(made) {
        connection = made;
      },
      onHead: () => connection?.abort(),
    };
    pool.send({ method: "GET", path: "/x", fields: {} }, replies);
    await ask(pool);
    expect(told).toBe(0);
    expect(sockets).toHaveLength(2);
  });

  test("that is made for a request which nobody waits for any more is kept for the next", async () => {
    const { pool, sockets } = await upstream((socket) => void socket.write(ok));
    let isOver = false;
    const left = { isCancelled: false } as ReplyHandler;
    Object.defineProperty(left, "isCancelled", { get: () => isOver });
    pool.send({ method: "GET", path: "/x", fields: {} }, left);
    // Sent at the end of this turn: the connection is made then, and the caller leaves before it is there.
    await new Promise(setImmediate);
    isOver = true;
    while (sockets.length === 0) await new Promise(setImmediate);
    // The client hears of it in one of the next turns, and has the connection rest for one more.
    for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
    await ask(pool);
    expect(sockets).toHaveLength(1);
  });

  test("that cannot be made says why", async () => {
    const pool = createConnectionPool("http://127.0.0.1:1", usual);
    expect(await ask(pool)).toMatchObject({ end: { code: "ECONNREFUSED" } });
    await pool.close();
  });

  test("has requests wait for their ends when the pool closes", async () => {
    const { pool } = await upstream((socket) => void setTimeout(() => socket.write(ok), 100));
    const asked = ask(pool);
    await pool.close();
    expect(await asked).toMatchObject({ body: "ok", end: "ended" });
  });

  test.skipIf(!hasOpenssl)(
    "is told which server is meant, where that has a name, and is made only to one that proves its own",
    async () => {
      const folder = mkdtempSync(join(tmpdir(), "tls-"));
      undo.push(() => rmSync(folder, { recursive: true }));
      const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
      const names = "subjectAltName=DNS:localhost";
      const made = [
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=localhost",
        "-addext",
        names,
      ];
      execFileSync("openssl", [...made, "-keyout", key, "-out", cert], { stdio: "ignore" });
      const seen: unknown[] = [];
      const server = createSecureServer({ key: readFileSync(key), cert: readFileSync(cert) }, (socket) => {
        seen.push(socket.servername);
        socket.on("error", () => {});
        socket.on("data", () => socket.write(ok));
      });
      server.on("tlsClientError", () => {});
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      undo.push(() => server.close());
      const { port } = server.address() as AddressInfo;
      const unproved = createConnectionPool(`https://localhost:${port}`, usual);
      expect(await ask(unproved)).toMatchObject({ end: { code: "DEPTH_ZERO_SELF_SIGNED_CERT" } });
      const defaults = getCACertificates();
      setDefaultCACertificates([readFileSync(cert, "utf8")]);
      undo.push(() => setDefaultCACertificates(defaults));
      const named = createConnectionPool(`https://localhost:${port}`, usual);
      const before = seen.length;
      // Not even where the process is busy when a request has gone out, and its answer is there first.
      const busy = () => void setImmediate(() => execFileSync("sleep", ["0.01"]));
      for (let i = 0; i < 8; i++) expect(await ask(named, busy)).toMatchObject({ body: "ok", end: "ended" });
      expect(seen.slice(before)).toEqual(["localhost"]);
      const unnamed = createConnectionPool(`https://127.0.0.1:${port}`, usual);
      expect(await ask(unnamed)).toMatchObject({ end: { code: "ERR_TLS_CERT_ALTNAME_INVALID" } });
      await Promise.all([unproved.close(), named.close(), unnamed.close()]);
    },
  );

  test("that has ended while the process was busy is not used again", async () => {
    // Its server lives in another thread, for this one is to be busy while the connection ends.
    const shared = new Int32Array(new SharedArrayBuffer(4));
    const worker = new Worker(
      `const { parentPort, workerData } = require("node:worker_threads");
       const server = require("node:net").createServer((socket) => {
         socket.on("error", () => {}).on("data", () => {
           socket.write(${JSON.stringify(ok)});
           setTimeout(() => socket.end(() => { Atomics.store(workerData, 0, 1); Atomics.notify(workerData, 0); }), 300);
         });
       });
       server.listen(0, "127.0.0.1", () => parentPort.postMessage(server.address().port));`,
      { eval: true, workerData: shared },
    );
    undo.push(() => worker.terminate());
    const [port] = await once(worker, "message");
    const pool = createConnectionPool(`http://127.0.0.1:${port}`, usual);
    undo.push(() => pool.close());
    await ask(pool);
    // What is asked by a timer is asked before anything is read.
    const timer = new Promise((resolve) => setTimeout(resolve, 1));
    expect(Atomics.wait(shared, 0, 0, 10_000)).toBe("ok");
    await timer;
    expect(await ask(pool)).toMatchObject({ body: "ok", end: "ended" });
  });

  test("is not taken for a request that nobody waits for any more", async () => {
    const { pool, sockets } = await upstream((socket) => void socket.write(ok));
    await ask(pool);
    pool.send({ method: "GET", path: "/x", fields: {} }, { isCancelled: true } as ReplyHandler);
    await ask(pool);
    expect(sockets).toHaveLength(1);
  });

  test("carries no path and no field that would end its line", async () => {
    const { pool } = await upstream((socket) => void socket.write(ok));
    const fields = { "x-one": "a\r\nx-two: b" };
    expect(() => pool.send({ method: "GET", path: "/", fields }, {} as ReplyHandler)).toThrow(TypeError);
    expect(() => pool.send({ method: "GET", path: "/ HTTP/1.1\r\n", fields: {} }, {} as ReplyHandler)).toThrow(
      TypeError,
    );
  });
});
