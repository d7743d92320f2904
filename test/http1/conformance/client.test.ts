/**
 * What HTTP/1.1 and the contract of an upstream's client ask, of both engines: `http1/client` and undici. `byNature` lists where
 * one of them does otherwise, and why.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer as createSecureServer, getCACertificates, setDefaultCACertificates } from "node:tls";
import { Worker } from "node:worker_threads";
import { describe, expect, onTestFinished, test } from "vitest";
import type { ReplyHandler, SentRequest } from "../../../src/http1/client/index.ts";
import { timed } from "../../support/run/running-time.ts";
import { ask, engines, startScripted, timeouts, writePieces } from "./client-engines.ts";

/** Makes certificates. */
const hasOpenssl = spawnSync("openssl", ["version"]).status === 0;

/** What differs by nature: the engine, what it does otherwise, and why. Each is held by a test at the end of this file. */
const byNature = [
  ["undici", "fails a reply behind 100 Continue", "it takes a 100 that it did not ask for as a fault"],
  ["undici", "hands over a body whose coding it does not know", "it reads chunks behind any other coding"],
  ["undici", "opens another connection after a request that was cancelled while connecting", "it aborts by the socket"],
] as const;

describe.each(engines)("$name", ({ name, create }) => {
  const start = (script: (socket: Socket, count: number) => void, bounds = timeouts) =>
    startScripted(create, script, bounds);
  const ok = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

  describe("a request", () => {
    test("is written with its host, what keeps the connection, its common lines, its fields and its length", async () => {
      const { client, received } = await start((socket) => void socket.write(ok));
      const common = "accept: a/b\r\nx-zero: 0\r\n";
      for (let i = 0; i < 2; i++) await ask(client, undefined, { common, fields: { "x-one": "\xe4" } });
      const written =
        /^POST \/x HTTP\/1\.1\r\nhost: 127\.0\.0\.1:\d+\r\nconnection: keep-alive\r\naccept: a\/b\r\nx-zero: 0\r\nx-one: \xe4\r\ncontent-length: 2\r\n\r\n\{\}/;
      const text = received();
      expect(text).toMatch(written);
      expect(text.slice(text.length / 2)).toMatch(written);
    });

    test("without a body has no length", async () => {
      const { client, received } = await start((socket) => void socket.write(ok));
      await ask(client, undefined, { method: "GET", fields: {}, body: undefined });
      expect(received()).toMatch(/^GET \/x HTTP\/1\.1\r\nhost: \S+\r\nconnection: keep-alive\r\n\r\n$/);
    });

    test.each([
      ["in one piece", [300_000]],
      ["in pieces", [1, 100_000, 20, 200_000]],
      ["in short pieces", [3, 4]],
      ["of no bytes", [0]],
    ])("with a body %s is sent whole, and its connection used again", async (_, lengths) => {
      const pieces = lengths.map((length, i) => Buffer.alloc(length, `${i}`));
      const whole = Buffer.concat(pieces).toString();
      let answered = 0;
      const { client, sockets, received } = await start(() => {});
      const answer = setInterval(() => {
        const sent = received().split("POST /x").slice(1);
        if (sent.length > answered && sent[answered]?.endsWith(`\r\n\r\n${whole}`)) {
          answered++;
          sockets.at(-1)?.write(ok);
        }
      }, 5);
      onTestFinished(() => clearInterval(answer));
      const body = pieces.length === 1 ? (pieces[0] as Buffer) : pieces;
      for (let i = 0; i < 2; i++) expect(await ask(client, undefined, { body })).toMatchObject({ end: "ended" });
      expect(received()).toContain(`content-length: ${whole.length}\r\n`);
      expect(sockets).toHaveLength(1);
    });

    test("is not sent where its path or a field would end its line", async () => {
      const { client } = await start((socket) => void socket.write(ok));
      const fields = { "x-one": "a\r\nx-two: b" };
      expect(() => client.send({ method: "GET", path: "/", fields }, {} as ReplyHandler)).toThrow(TypeError);
      const path = "/ HTTP/1.1\r\n";
      expect(() => client.send({ method: "GET", path, fields: {} }, {} as ReplyHandler)).toThrow(TypeError);
    });

    test("that was cancelled before it is sent is not", async () => {
      const { client, sockets, received } = await start((socket) => void socket.write(ok));
      await ask(client);
      client.send({ method: "GET", path: "/never", fields: {} }, { isCancelled: true } as ReplyHandler);
      await ask(client);
      expect(sockets).toHaveLength(1);
      expect(received()).not.toContain("/never");
    });

    test("that was cancelled while it waits for a connection is not sent", async () => {
      const { client, received } = await start((socket) => void socket.write(ok));
      let isCancelled = false;
      const gone = Object.defineProperty({} as ReplyHandler, "isCancelled", { get: () => isCancelled });
      client.send({ method: "GET", path: "/never", fields: {} }, gone);
      await new Promise(setImmediate);
      isCancelled = true;
      expect(await ask(client)).toMatchObject({ body: "ok", end: "ended" });
      expect(received()).not.toContain("/never");
    });
  });

  describe("a reply", () => {
    const ways: readonly [string, string][] = [
      ["with a length", "HTTP/1.1 200 OK\r\nContent-Length: 11\r\nX-Two: a\r\nx-two: b\r\n\r\nhello world"],
      [
        "in chunks",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\nX-Two: a\r\nx-two: b\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n",
      ],
      [
        "in chunks with extensions and trailers",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-Two: a\r\nx-two: b\r\n\r\nB;a=b\r\nhello world\r\n0\r\nx-three: c\r\n\r\n",
      ],
      [
        "behind another that only announces it",
        "HTTP/1.1 103 Early\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 11\r\nx-two: a\r\nx-two: b\r\n\r\nhello world",
      ],
    ];
    test.each(ways.flatMap(([way, text]) => [1, 3, 7, 1000].map((size) => [way, size, text] as const)))(
      "%s is read to the same in pieces of %i bytes, and its connection used again",
      async (_, size, text) => {
        const { client, sockets } = await start((socket) => void writePieces(socket, text, size));
        for (let i = 0; i < 2; i++) {
          const outcome = await ask(client);
          expect(outcome).toMatchObject({ status: 200, body: "hello world", end: "ended" });
          expect(outcome.fields).toMatchObject({ "x-two": ["a", "b"] });
          expect(outcome.fields).not.toHaveProperty("x-three");
        }
        expect(sockets).toHaveLength(1);
      },
    );

    test("has its values one byte a character", async () => {
      const text = "HTTP/1.1 200 OK\r\nx-one: \xe4\xff\r\ncontent-length: 0\r\n\r\n";
      const { client } = await start((socket) => void socket.write(text, "latin1"));
      expect((await ask(client)).fields).toMatchObject({ "x-one": "\xe4\xff" });
    });

    test("that repeats the one before it but for its length and a field is read anew", async () => {
      const { client, sockets } = await start((socket, count) => {
        const body = "x".repeat(count ** 3);
        const more = count % 3 === 0 ? "x-more: y\r\n" : "";
        socket.write(
          `HTTP/1.1 ${200 + (count % 2)} OK\r\nx-one: y\r\n${more}content-length: ${body.length}\r\n\r\n${body}`,
        );
      });
      for (let count = 1; count < 12; count++) {
        const outcome = await ask(client);
        expect(outcome).toMatchObject({ status: 200 + (count % 2), body: "x".repeat(count ** 3), end: "ended" });
        expect(outcome.fields?.["x-more"]).toBe(count % 3 === 0 ? "y" : undefined);
        expect(outcome.fields?.["content-length"]).toBe(`${count ** 3}`);
      }
      expect(sockets).toHaveLength(1);
    });

    test.each([
      ["that says so", "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok"],
      ["that says so in a list", "HTTP/1.1 200 OK\r\nconnection: x ,\tClose\r\ncontent-length: 2\r\n\r\nok"],
      ["of HTTP/1.0", "HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok"],
      ["with more behind it than it told", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok, and more"],
      ["whose server keeps nothing", "HTTP/1.1 200 OK\r\nkeep-alive: timeout=1\r\ncontent-length: 2\r\n\r\nok"],
    ])("%s is the last of its connection", async (_, text) => {
      const { client, sockets } = await start((socket) => void socket.write(text));
      for (let i = 0; i < 2; i++) expect(await ask(client)).toMatchObject({ body: "ok", end: "ended" });
      expect(sockets).toHaveLength(2);
    });

    test("that ends before its long request was written is the last of its connection", async () => {
      const { client, sockets } = await start((socket, count) => {
        if (count === 1) socket.pause().write(ok);
        else socket.write(ok);
      });
      const body = Buffer.alloc(50_000_000);
      expect(await ask(client, undefined, { body })).toMatchObject({ body: "ok", end: "ended" });
      sockets[0]?.resume();
      expect(await ask(client)).toMatchObject({ body: "ok", end: "ended" });
      expect(sockets).toHaveLength(2);
    });

    test.each([
      [32, "ended"],
      [33, expect.any(Error)],
    ])("behind %i that only announce it is read, or refused", async (count, end) => {
      const text = `${"HTTP/1.1 103 Early\r\n\r\n".repeat(count)}HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok`;
      const { client } = await start((socket) => void socket.write(text));
      expect((await ask(client)).end).toEqual(end);
    });

    test("without length or chunks ends with the connection", async () => {
      const { client } = await start((socket) => void socket.end("HTTP/1.1 200 OK\r\n\r\nto the end"));
      expect(await ask(client)).toMatchObject({ body: "to the end", end: "ended" });
    });

    test.each([204, 304])("of status %i has no body", async (status) => {
      const { client, sockets } = await start((socket) => void socket.write(`HTTP/1.1 ${status} x\r\n\r\n`));
      for (let i = 0; i < 2; i++) expect(await ask(client)).toMatchObject({ status, body: "", end: "ended" });
      expect(sockets).toHaveLength(1);
    });

    test.each([
      ["another protocol", "SSH-2.0-x\r\n"],
      ["lines that end in LF alone", "HTTP/1.1 200 OK\ncontent-length: 2\n\nok"],
      ["a status that is none", "HTTP/1.1 2000 OK\r\n\r\n"],
      ["a length and chunks", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\nok"],
      ["two lengths", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 2\r\n\r\nok"],
      ["a length that is none", "HTTP/1.1 200 OK\r\ncontent-length: -2\r\n\r\nok"],
      ["a coding that is not known", "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\nok"],
      ["a folded line", "HTTP/1.1 200 OK\r\nx: a\r\n b\r\n\r\n"],
      ["a zero byte in a field", "HTTP/1.1 200 OK\r\nx: a\0b\r\ncontent-length: 2\r\n\r\nok"],
      ["a change of protocol", "HTTP/1.1 101 Go\r\nupgrade: x\r\n\r\n"],
      ["a head without end", `HTTP/1.1 200 OK\r\nx: ${"a".repeat(70_000)}`],
      ["a chunk that is none", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n"],
    ])("with %s is not taken for one", async (_, text) => {
      const { client, sockets } = await start((socket) => void socket.write(text));
      expect((await ask(client)).end).toBeInstanceOf(Error);
      await ask(client);
      expect(sockets).toHaveLength(2);
    });

    test("that breaks off has what came of it, and fails", async () => {
      const { client } = await start((socket) => void socket.end("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf"));
      expect(await ask(client)).toMatchObject({ body: "half", end: { code: "ECONNRESET" } });
    });

    test("that is reset has what came of it, and fails", async () => {
      const { client } = await start((socket) => {
        socket.write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n");
        setTimeout(() => socket.resetAndDestroy(), 50);
      });
      expect(await ask(client)).toMatchObject({ body: "half", end: { code: "ECONNRESET" } });
    });

    test("with what came before a bad chunk hands that over", async () => {
      const text = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\nzz\r\n";
      const { client } = await start((socket) => void socket.write(text));
      expect(await ask(client)).toMatchObject({ body: "ok", end: expect.any(name === "http1" ? RangeError : Error) });
    });

    test.each([
      ["firstByteMs", ""],
      ["firstByteMs", "HTTP/1.1 103 Early\r\n\r\n"],
      ["idleMs", "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf"],
    ])("whose %s does not come in time is told late: %j", async (phase, text) => {
      const bounds = { connectMs: 5_000, firstByteMs: 600, idleMs: 600 };
      const { client, sockets } = await start((socket) => void socket.write(text), bounds);
      expect((await ask(client)).end).toBe(phase);
      if (!sockets[0]?.destroyed) await once(sockets[0] as Socket, "close");
    });
  });

  describe("an exchange", () => {
    test("that is paused slows its server, has no time-out, and goes on", async () => {
      const size = 30_000_000;
      const { client, sockets } = await start(
        (socket) => void socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${size}\r\n\r\n${"x".repeat(size)}`),
        { connectMs: 5_000, firstByteMs: 5_000, idleMs: 1_000 },
      );
      let request: SentRequest | undefined;
      let isFirst = true;
      const asked = ask(
        client,
        (sent) => {
          request = sent;
        },
        {},
        () => {
          if (isFirst) request?.pause();
          isFirst = false;
        },
      );
      await new Promise((resolve) => setTimeout(resolve, 3_000));
      expect(request?.isPaused).toBe(true);
      expect(sockets[0]?.writableLength).toBeGreaterThan(size / 4);
      request?.resume();
      expect(request?.isPaused).toBe(false);
      const outcome = await asked;
      expect([outcome.body.length, outcome.end]).toEqual([size, "ended"]);
    });

    test("that is paused and resumed with each piece loses nothing", async () => {
      const { client } = await start((socket) => {
        const text = `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${"5\r\nhello\r\n".repeat(2_000)}0\r\n\r\n`;
        void writePieces(socket, text, 997);
      });
      let request: SentRequest | undefined;
      const outcome = await ask(
        client,
        (sent) => {
          request = sent;
        },
        {},
        () => {
          request?.pause();
          setImmediate(() => request?.resume());
        },
      );
      expect(outcome).toMatchObject({ body: "hello".repeat(2_000), end: "ended" });
    });

    test.each(["before its head", "in its body"])(
      "that is aborted %s closes its connection within 50 ms",
      async (when) => {
        const text = when === "in its body" ? "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf" : "";
        const { client, sockets } = await start((socket) => void socket.write(text));
        let called = 0;
        const count = () => void called++;
        const sent = Promise.withResolvers<SentRequest>();
        const handler = {
          isCancelled: false,
          onHead: () => {},
          onBody: () => {},
          onEnd: count,
          onError: count,
          onTimeout: count,
        };
        client.send({ method: "GET", path: "/x", fields: {} }, { ...handler, onSent: sent.resolve });
        const request = await sent.promise;
        while (sockets.length === 0) await new Promise(setImmediate);
        await new Promise((resolve) => setTimeout(resolve, 50));
        const [, { runningMs }] = await timed(async () => {
          request.abort();
          await once(sockets[0] as Socket, "close");
        });
        expect(runningMs).toBeLessThan(50);
        expect(called).toBe(0);
      },
    );

    test("that is aborted at its head is told nothing more", async () => {
      const { client, sockets } = await start((socket) => void socket.write(ok));
      let called = 0;
      const count = () => void called++;
      let request: SentRequest | undefined;
      const handler: ReplyHandler = {
        ...{ isCancelled: false, onBody: count, onEnd: count, onError: count, onTimeout: count },
        onSent(sent) {
          request = sent;
        },
        onHead: () => request?.abort(),
      };
      client.send({ method: "GET", path: "/x", fields: {} }, handler);
      await ask(client);
      expect(called).toBe(0);
      expect(sockets).toHaveLength(2);
    });

    test("that cannot connect says why, and was never sent", async () => {
      const client = create("http://127.0.0.1:1", timeouts);
      expect(await ask(client)).toMatchObject({ isSent: false, end: { code: "ECONNREFUSED" } });
      await client.close();
    });

    test("whose server has no name says so, and was never sent", async () => {
      const client = create("http://nowhere.invalid", timeouts);
      expect(await ask(client)).toMatchObject({
        isSent: false,
        end: { code: expect.stringMatching(/ENOTFOUND|EAI_AGAIN/) },
      });
      await client.close();
    });

    test("that does not connect in time is told late, and was never sent", async () => {
      // The server accepts, and never says a word of TLS.
      const server = createServer((socket) => socket.on("error", () => {}));
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      onTestFinished(() => void server.close());
      const origin = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const client = create(origin, { ...timeouts, connectMs: 300 });
      expect(await ask(client)).toMatchObject({ isSent: false, end: "connectMs" });
      await client.close();
    });
  });

  describe("a connection", () => {
    test("is made for each request that runs beside others, and all are kept", async () => {
      const { client, sockets } = await start((socket) => void socket.write(ok));
      for (let i = 0; i < 2; i++) await Promise.all([ask(client), ask(client), ask(client)]);
      expect(sockets).toHaveLength(3);
    });

    test("that its server has closed meanwhile is not used again", async () => {
      const { client, sockets } = await start((socket) => void socket.write(ok));
      await ask(client);
      const closed = once(sockets[0] as Socket, "close");
      sockets[0]?.end();
      await closed;
      expect(await ask(client)).toMatchObject({ body: "ok", end: "ended" });
      expect(sockets).toHaveLength(2);
    });

    test("that is told something between two requests is not used again", async () => {
      const { client, sockets } = await start((socket) => void socket.write(ok));
      await ask(client);
      const closed = once(sockets[0] as Socket, "close");
      sockets[0]?.write("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nfake");
      await closed;
      expect(await ask(client)).toMatchObject({ body: "ok", end: "ended" });
    });

    test("that is not used ends after some seconds", async () => {
      const kept = ok.replace("\r\n\r\n", "\r\nkeep-alive: timeout=2\r\n\r\n");
      const { client, sockets } = await start((socket) => void socket.write(kept));
      await ask(client);
      await once(sockets[0] as Socket, "close");
    });

    test("has requests wait for their ends when the client closes", async () => {
      const { client } = await start((socket) => void setTimeout(() => socket.write(ok), 100));
      const asked = ask(client);
      await client.close();
      expect(await asked).toMatchObject({ body: "ok", end: "ended" });
    });

    test.skipIf(!hasOpenssl)(
      "is told which server is meant, where that has a name, and is made only to one that proves its own",
      async () => {
        const { key, cert } = makeCertificate();
        const seen: unknown[] = [];
        const server = createSecureServer({ key, cert }, (socket) => {
          seen.push(socket.servername);
          socket.on("error", () => {});
          socket.on("data", () => socket.write(ok));
        });
        server.on("tlsClientError", () => {});
        await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
        onTestFinished(() => void server.close());
        const { port } = server.address() as AddressInfo;
        const unproved = create(`https://localhost:${port}`, timeouts);
        expect(await ask(unproved)).toMatchObject({ isSent: false, end: { code: "DEPTH_ZERO_SELF_SIGNED_CERT" } });
        const defaults = getCACertificates();
        setDefaultCACertificates([cert]);
        onTestFinished(() => setDefaultCACertificates(defaults));
        const named = create(`https://localhost:${port}`, timeouts);
        const before = seen.length;
        // Not even where the process is busy when a request has gone out, and its reply is there first.
        const busy = () => void setImmediate(() => execFileSync("sleep", ["0.01"]));
        for (let i = 0; i < 8; i++) expect(await ask(named, busy)).toMatchObject({ body: "ok", end: "ended" });
        expect(seen.slice(before)).toEqual(["localhost"]);
        const unnamed = create(`https://127.0.0.1:${port}`, timeouts);
        expect(await ask(unnamed)).toMatchObject({ isSent: false, end: { code: "ERR_TLS_CERT_ALTNAME_INVALID" } });
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
      onTestFinished(async () => void (await worker.terminate()));
      const [port] = await once(worker, "message");
      const client = create(`http://127.0.0.1:${port}`, timeouts);
      onTestFinished(() => client.close());
      await ask(client);
      // What is asked by a timer is asked before anything is read.
      const timer = new Promise((resolve) => setTimeout(resolve, 1));
      expect(Atomics.wait(shared, 0, 0, 10_000)).toBe("ok");
      await timer;
      expect(await ask(client)).toMatchObject({ body: "ok", end: "ended" });
    });
  });

  describe("by nature", () => {
    const differs = (what: (typeof byNature)[number][1]) =>
      byNature.some(([engine, other]) => engine === name && other === what);

    test("a reply behind 100 Continue is read, or fails", async () => {
      const { client } = await start((socket) => void socket.write(`HTTP/1.1 100 Continue\r\n\r\n${ok}`));
      const end = differs("fails a reply behind 100 Continue") ? expect.any(Error) : "ended";
      expect((await ask(client)).end).toEqual(end);
    });

    test("a body whose coding is not known fails, or is handed over as it came", async () => {
      const text = "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n";
      const { client } = await start((socket) => void socket.write(text));
      const end = differs("hands over a body whose coding it does not know") ? "ended" : expect.any(Error);
      expect((await ask(client)).end).toEqual(end);
    });

    test("a connection that was made for a cancelled request is used for the next, or closed", async () => {
      const { client, sockets } = await start((socket) => void socket.write(ok));
      let isCancelled = false;
      const gone = Object.defineProperty({} as ReplyHandler, "isCancelled", { get: () => isCancelled });
      client.send({ method: "GET", path: "/x", fields: {} }, gone);
      // Sent at the end of this turn: the connection is made then, and the caller leaves before it is there.
      await new Promise(setImmediate);
      isCancelled = true;
      while (sockets.length === 0) await new Promise(setImmediate);
      // The client hears of it in one of the next turns, and has the connection rest for one more.
      for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
      await ask(client);
      const another = "opens another connection after a request that was cancelled while connecting";
      expect(sockets).toHaveLength(differs(another) ? 2 : 1);
    });
  });
});

function makeCertificate(): { readonly key: string; readonly cert: string } {
  const folder = mkdtempSync(join(tmpdir(), "tls-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const request = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"];
  const names = ["-addext", "subjectAltName=DNS:localhost"];
  execFileSync("openssl", [...request, ...names, "-keyout", key, "-out", cert], { stdio: "ignore" });
  return { key: readFileSync(key, "utf8"), cert: readFileSync(cert, "utf8") };
}
