/**
 * Plain requests are answered without Node's server: only those that it would read to the same, in their order. A connection is
 * handed over to it, with every byte, at the first request that is not plain.
 */

import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { discard, readBody } from "../../src/doors/body/body.ts";
import { type Listener, type ListenOptions, listen } from "../../src/doors/listener/listen.ts";
import { readFields } from "../../src/http1/fields.ts";
import type { PlainAnswer } from "../../src/http1/server/answer.ts";
import { type PlainRequest, plainRequest, readHead } from "../../src/http1/server/request.ts";
import { connectClient, startServedPort } from "../support/clients/served-port.ts";
import { unboundedBody } from "../support/unbounded-body.ts";

const noSocket = {} as Socket;
const plain = "POST /v1/x?y=1 HTTP/1.1\r\nHost: h\r\nX-One:  a b \r\nContent-Length: 4\r\n\r\nbody";

/** Reads a request from one piece; "more" if its body is not complete, "other" if it is not plain. */
function read(text: string): PlainRequest | "more" | "other" {
  const bytes = Buffer.from(text, "latin1");
  const head = readHead(bytes);
  if (!head) return "other";
  return head.to > bytes.length ? "more" : plainRequest(head, bytes.subarray(head.from, head.to), noSocket);
}

describe("a request", () => {
  test("that is plain is read", () => {
    const request = read(`${plain}POST /next`) as PlainRequest;
    expect(request).toMatchObject({ method: "POST", url: "/v1/x?y=1", httpVersionMajor: 1 });
    expect(request.headers).toEqual({ host: "h", "x-one": "a b", "content-length": "4" });
    expect(String(request.body)).toBe("body");
  });

  test("keeps its body until that is read, and no longer: an answer may last for hours", () => {
    const request = read(plain) as PlainRequest;
    const limits = { maxBytes: 10, timeoutMs: 1000 };
    expect(String(readBody(request, limits, unboundedBody))).toBe("body");
    expect(request.body).toBeUndefined();
    expect(() => readBody(request, limits, unboundedBody)).toThrow("an error while handling");
    expect(() => discard(request, 1_000)).not.toThrow();
  });

  test("that is cut in its body is waited for, and one that is cut in its head is for Node's server", () => {
    const body = plain.indexOf("body");
    for (let length = 0; length < body; length++) expect(read(plain.slice(0, length))).toBe("other");
    for (let length = body; length < plain.length; length++) expect(read(plain.slice(0, length))).toBe("more");
  });

  const head = (lines: string, line = "POST /x HTTP/1.1") => `${line}\r\n${lines}\r\n\r\nbody`;
  const manyFields = (count: number) => Array.from({ length: count }, (_, i) => `x${i}:`).join("\r\n");
  test.each([
    ["another method", head("host: h\r\ncontent-length: 4", "PUT /x HTTP/1.1")],
    ["HTTP/1.0", head("host: h\r\ncontent-length: 4", "POST /x HTTP/1.0")],
    ["no version", head("host: h\r\ncontent-length: 4", "POST /x")],
    ["a whole address", head("host: h\r\ncontent-length: 4", "POST http://h/x HTTP/1.1")],
    ["a space in the target", head("host: h\r\ncontent-length: 4", "POST /x y HTTP/1.1")],
    ["a byte beyond ASCII in the target", head("host: h\r\ncontent-length: 4", "POST /\xe4 HTTP/1.1")],
    ["no host", head("content-length: 4")],
    ["two hosts", head("host: a\r\nhost: b\r\ncontent-length: 4")],
    ["no length", head("host: h")],
    ["two lengths", head("host: h\r\ncontent-length: 4\r\ncontent-length: 4")],
    ["a list of lengths", head("host: h\r\ncontent-length: 4, 4")],
    ["a signed length", head("host: h\r\ncontent-length: +4")],
    ["a length in hex", head("host: h\r\ncontent-length: 0x4")],
    ["an empty length", head("host: h\r\ncontent-length:")],
    ["a length that cannot be counted", head("host: h\r\ncontent-length: 99999999999999999999")],
    ["chunks", head("host: h\r\ntransfer-encoding: chunked")],
    ["chunks and a length", head("host: h\r\ncontent-length: 4\r\nTransfer-Encoding: chunked")],
    ["an expectation", head("host: h\r\ncontent-length: 4\r\nexpect: 100-continue")],
    ["an upgrade", head("host: h\r\ncontent-length: 4\r\nconnection: upgrade\r\nupgrade: h2c")],
    ["an end of the connection", head("host: h\r\ncontent-length: 4\r\nconnection: close")],
    ["such an end, as it is told to a proxy", head("host: h\r\ncontent-length: 4\r\nProxy-Connection: close")],
    ["a folded line", head("host: h\r\nx-one: a\r\n b\r\ncontent-length: 4")],
    ["a space before the colon", head("host: h\r\ncontent-length : 4")],
    ["a line without a colon", head("host: h\r\nx-one\r\ncontent-length: 4")],
    ["a name that is none", head("host: h\r\nx(one): a\r\ncontent-length: 4")],
    ["an empty name", head("host: h\r\n: a\r\ncontent-length: 4")],
    ["a zero byte", head("host: h\r\nx-one: a\0b\r\ncontent-length: 4")],
    ["a bare CR", head("host: h\r\nx-one: a\rb\r\ncontent-length: 4")],
    ["a bare LF", head("host: h\nx-one: a\r\ncontent-length: 4")],
    ["a head that is longer than Node takes", head(`host: h\r\nx-one: ${"a".repeat(17_000)}\r\ncontent-length: 4`)],
    ["more fields than Node takes", head(`host: h\r\n${manyFields(1001)}\r\ncontent-length: 4`)],
  ])("with %s is for Node's server", (_, text) => {
    expect(read(text)).toBe("other");
  });

  test("has its field names read to the same whichever came before, also names that every object has", () => {
    const odd = ["constructor", "toString", "valueOf", "x", "a".repeat(39), "a".repeat(41), "X-One", "x-oNE"];
    const alike = Array.from({ length: 40 }, (_, i) => `x-${String(i).padStart(3, "0")}`);
    const many = Array.from({ length: 1200 }, (_, i) => `N${i}`);
    for (const names of [odd, alike, alike.toReversed(), many, odd, alike]) {
      for (const name of names) {
        const fields: Record<string, string> = {};
        expect(readFields(`${name}: v\r\nHost: h`, 0, (key, value) => (fields[key] = value))).toBe(true);
        expect(fields).toEqual({ [name.toLowerCase()]: "v", host: "h" });
      }
    }
  });

  test("that is read here is read to the same by Node's server", async () => {
    const seen: { url: unknown; headers: unknown; body: string }[] = [];
    const server = createServer(async (req, res) => {
      const chunks = await req.toArray();
      seen.push({ url: req.url, headers: { ...req.headers }, body: Buffer.concat(chunks).toString("latin1") });
      res.end();
    });
    server.on("clientError", (_, socket) => socket.destroy());
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const piece = fc.constantFrom(
      ...[
        "host: h",
        "Host: h:1",
        "x-a: b",
        "X-A:\tb ",
        "x-b:",
        "connection: keep-alive",
        "Connection: Keep-Alive",
        "cookie: a=b",
      ],
      ...[
        "content-length: 4",
        "content-length: 0",
        "content-length: 04",
        "content-length:3",
        "content-length: 4 ",
        "te: trailers",
      ],
      ...[
        "transfer-encoding: chunked",
        " folded",
        "x-c: \xe4",
        "x-d: \x7f",
        "authorization: Bearer x",
        "x-a: c",
        "__proto__: a",
      ],
    );
    const target = fc.constantFrom("/", "/v1/x", "/a?b=c#d", "/%00", "//x", "/a b", "*");
    const end = fc.constantFrom("\r\n", "\r\n", "\r\n", "\n");
    const request = fc.tuple(
      target,
      fc.array(fc.tuple(piece, end), { maxLength: 6 }),
      fc.constantFrom("body", "", "bod"),
    );
    let plainOnes = 0;
    await fc.assert(
      fc.asyncProperty(request, async ([url, lines, body]) => {
        const text = `POST ${url} HTTP/1.1\r\nhost: g\r\ncontent-length: ${body.length}\r\n${lines.map((line) => line.join("")).join("")}\r\n${body}`;
        const outcomes = [text, text.replace("host: g\r\n", ""), text.replace(/content-length: \d\r\n/, "")];
        for (const sent of outcomes) {
          const ours = read(sent);
          if (typeof ours === "string") continue;
          plainOnes++;
          seen.length = 0;
          const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
          socket.write(Buffer.from(sent, "latin1"));
          await Promise.race([once(socket, "data"), once(socket, "close")]);
          socket.destroy();
          const { url: path, headers, body: bytes } = ours;
          expect(seen[0]).toEqual({ url: path, headers, body: (bytes as Buffer).toString("latin1") });
        }
      }),
      { numRuns: 300 },
    );
    expect(plainOnes).toBeGreaterThan(20);
  });
});

interface Port {
  readonly listener: Listener;
  /** Those that came as plain, unanswered. */
  readonly came: { readonly request: PlainRequest; readonly answer: PlainAnswer }[];
  /** Resolves when a client has an answer more than it reads. */
  readonly lagging: Promise<void>;
  /** How many requests were served while that was so. */
  servedBehind(): number;
  /** Resolves when so many have come. */
  waitFor(count: number): Promise<void>;
}

/** Answers `/now` at once with its body; leaves all other plain requests to the test, and the rest to Node's server. */
async function startPort(options: Partial<ListenOptions> = {}): Promise<Port> {
  const came: Port["came"] = [];
  const lagging = Promise.withResolvers<void>();
  let behind = 0;
  let wake = () => {};
  const listener = await listen({
    host: "127.0.0.1",
    port: 0,
    handle: (req, res) => void req.resume().on("end", () => res.end(`node ${req.method} ${req.url}`)),
    handlePlain(request) {
      if (request.url === "/declined") return undefined;
      if (request.socket.writableNeedDrain) behind++;
      return (answer) => {
        const body = request.body as Buffer;
        if (request.url === "/now") answer.writeHead(200, { "content-length": String(body.length) }).end(body);
        else came.push({ request, answer });
        if (request.socket.writableNeedDrain) lagging.resolve();
        wake();
      };
    },
    rejectionBody: () => Buffer.from("rejected"),
    ...options,
  });
  onTestFinished(() => listener.close(0));
  const waitFor = async (count: number) => {
    while (came.length < count) await new Promise<void>((resolve) => (wake = resolve));
  };
  return { listener, came, waitFor, lagging: lagging.promise, servedBehind: () => behind };
}

const client = (port: number) => connectClient(port);

/** Has a client ask something that the test answers; one that is paused does not read yet. */
async function ask(path: string, isPaused = false) {
  const { listener, came, waitFor } = await startPort();
  const { socket, until } = client(listener.port);
  if (isPaused) socket.pause();
  socket.write(post(path));
  await waitFor(1);
  const { answer } = came[0] as Port["came"][number];
  return { listener, socket, until, answer };
}

const post = (path: string, body = "") =>
  `POST ${path} HTTP/1.1\r\nhost: h\r\ncontent-length: ${body.length}\r\n\r\n${body}`;

describe("a connection", () => {
  test("is closed when it has been idle for longer than `keep-alive` says, and not while it is answered", async () => {
    const { watched, next, client } = await startServedPort();
    const { socket, until } = client();
    socket.write(post("/later", "x"));
    const { answer } = await next();
    const [connection] = watched;
    expect(connection?.deadline).toBe(Number.POSITIVE_INFINITY);
    answer.writeHead(200, { "content-length": "2" }).end(Buffer.from("hi"));
    await until("hi");
    const left = (connection?.deadline ?? 0) - performance.now();
    expect([left > 65_000, left <= 66_000]).toEqual([true, true]);
    connection?.onDeadline();
    await once(socket, "close");
    expect(watched.size).toBe(0);
  });

  test("is not closed while its client still reads the last answer, however long that takes", async () => {
    const { watched, next, client } = await startServedPort();
    const { socket } = client();
    socket.write(post("/long", "x"));
    const { answer } = await next();
    const [connection] = watched;
    socket.pause();
    const body = Buffer.alloc(20_000_000, "x");
    answer.writeHead(200, { "content-length": String(body.length) }).end(body);
    expect(connection?.deadline).toBeLessThan(Number.POSITIVE_INFINITY);
    connection?.onDeadline();
    let bytes = 0;
    socket.on("data", ({ length }: Buffer) => {
      bytes += length;
    });
    socket.resume();
    while (bytes < body.length) await once(socket, "data");
    // It counts again as soon as all has been read.
    while (connection?.deadline === Number.POSITIVE_INFINITY) await new Promise(setImmediate);
    connection?.onDeadline();
    await once(socket, "close");
  });

  test("is not closed while a body comes", async () => {
    const { watched, client } = await startServedPort();
    const { socket } = client();
    socket.write("POST /x HTTP/1.1\r\nhost: h\r\ncontent-length: 2\r\n\r\n1");
    while (watched.size === 0 || [...watched][0]?.deadline !== Number.POSITIVE_INFINITY) {
      await new Promise(setImmediate);
    }
  });

  test("has answers with a date and the fields that keep it", async () => {
    const { listener } = await startPort();
    const { socket, until } = client(listener.port);
    socket.write(post("/now", "hello"));
    const text = await until("hello");
    expect(text).toMatch(
      /^HTTP\/1\.1 200 OK\r\ncontent-length: 5\r\ndate: \w{3}, .* GMT\r\nconnection: keep-alive\r\nkeep-alive: timeout=65\r\n\r\nhello$/,
    );
  });

  test("has requests that come together answered one after another, in their order", async () => {
    const { listener, came, waitFor } = await startPort();
    const { socket, until } = client(listener.port);
    socket.write(`${post("/a")}${post("/b")}${post("/now", "last")}`);
    for (const [i, name] of ["a", "b"].entries()) {
      await waitFor(i + 1);
      expect(came).toHaveLength(i + 1);
      came[i]?.answer.writeHead(200, { "content-length": "1" }).end(Buffer.from(name));
    }
    const text = await until("last");
    expect(text.match(/\r\n\r\n./g)?.map((end) => end.at(-1))).toEqual(["a", "b", "l"]);
  });

  test.each([
    ["declined", post("/declined"), "node POST /declined"],
    ["of another method", "GET /x HTTP/1.1\r\nhost: h\r\n\r\n", "node GET /x"],
    [
      "in chunks",
      "POST /c HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
      "node POST /c",
    ],
  ])("goes to Node's server with a request that is %s, and stays there", async (_, text, answered) => {
    const { listener, came } = await startPort();
    const { socket, until } = client(listener.port);
    socket.write(post("/now", "first"));
    await until("first");
    socket.write(text);
    await until(`${answered}`);
    socket.write(post("/now", "again"));
    expect(await until("node POST /now")).toContain("first");
    expect(came).toHaveLength(0);
  });

  test.each([
    ["whose rest does not come", () => {}],
    ["that comes so slowly that it would take for ever", (socket: Socket) => void socket.write("x")],
  ])("goes there with a body %s, and is answered when it has come", async (_, more) => {
    const arrived = Promise.withResolvers<void>();
    const { listener } = await startPort({
      handle(req, res) {
        arrived.resolve();
        req.resume().on("end", () => res.end("node"));
      },
    });
    const { socket, until } = client(listener.port);
    const text = post("/now", "x".repeat(100));
    socket.write(text.slice(0, -100));
    let sent = 0;
    const dribbling = setInterval(() => {
      const before = socket.bytesWritten;
      more(socket);
      sent += socket.bytesWritten - before;
    }, 50);
    await arrived.promise;
    clearInterval(dribbling);
    expect(sent).toBeLessThan(100);
    socket.write("x".repeat(100 - sent));
    expect(await until("node")).toContain("200 OK");
  });

  test("goes there with a head that does not come whole, whose time is bounded there", async () => {
    const { listener } = await startPort({ headersTimeoutMs: 500 });
    const { socket, until } = client(listener.port);
    socket.write("POST /now HTTP/1.1\r\nhost: h\r\n");
    expect(await until("rejected")).toContain(" 408 ");
  });

  test("carries a stream in chunks, with its trailers, and then the next answer", async () => {
    const { socket, until, answer } = await ask("/stream");
    answer.writeHead(200, { "content-type": "text/plain" });
    answer.write(Buffer.from("one"));
    await until("3\r\none\r\n");
    answer.write(Buffer.from("seventeen letters"));
    answer.addTrailers({ "x-cost": "1" });
    answer.end(Buffer.from("!"));
    const text = await until("0\r\nx-cost: 1\r\n\r\n");
    expect(text).toContain("transfer-encoding: chunked\r\n\r\n3\r\none\r\n11\r\nseventeen letters\r\n1\r\n!\r\n0\r\n");
    socket.write(post("/now", "next"));
    await until("next");
  });

  test("serves nothing more to a client that does not read, until it does", async () => {
    const { listener, lagging, servedBehind } = await startPort();
    const { socket, until } = client(listener.port);
    socket.pause();
    const text = post("/now", "x".repeat(60_000));
    for (let i = 0; i < 400; i++) socket.write(text);
    socket.write(post("/now", "the last"));
    await lagging;
    socket.resume();
    await until("the last");
    expect(servedBehind()).toBe(0);
  });

  test("publishes each request once, whichever server answers it", async () => {
    const heard: unknown[] = [];
    const hear = (message: unknown) => void heard.push((message as { request: { url: string } }).request.url);
    subscribe("http.server.request.start", hear);
    onTestFinished(() => void unsubscribe("http.server.request.start", hear));
    const { listener } = await startPort();
    const { socket, until } = client(listener.port);
    socket.write(post("/now", "first"));
    await until("first");
    socket.write(post("/declined"));
    await until("node POST /declined");
    expect(heard).toEqual(["/now", "/declined"]);
  });
});
