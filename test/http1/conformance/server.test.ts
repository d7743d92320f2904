/**
 * What HTTP/1.1 and the doors ask of a server, of both engines: `http1/server` with Node's behind it, and Node's alone. Where one
 * of them does otherwise by nature, `byNature` says what and why.
 */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import type { Socket } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { discard } from "../../../src/doors/body/body.ts";
import { ChunkedDecoder } from "../../../src/http1/chunked.ts";
import type { HttpAnswer } from "../../../src/http1/server/index.ts";
import { bodyOf, connectTo, echo, engines, type Handle, post, type Request, startServer } from "./server-engines.ts";

/** What differs by nature: the engine, what it does otherwise, and why. */
const byNature = [
  ["node", "writes the names of its own fields with capitals", "names are of either case (RFC 9110, 5.1)"],
  [
    "node",
    "promises to keep a connection that is closed with its last answer",
    "it does not know that its port closes",
  ],
  ["node", "closes an answer with each answer's end", "its `close` is the answer's; ours is the connection's"],
] as const;

const length = (body: string) => ({ "content-length": `${body.length}` });
const answerWith = (answer: HttpAnswer, body: string) => {
  answer.writeHead(200, length(body));
  answer.end(Buffer.from(body));
};

describe.each(engines)("$name", (engine) => {
  const differs = (what: (typeof byNature)[number][1]) =>
    byNature.some(([name, other]) => name === engine.name && other === what);
  const start = (handle: Handle, options = {}) => startServer(engine, handle, options);

  /** Starts a port whose requests the test answers, in their order. */
  async function startAsked() {
    const waiting: { readonly request: Request; readonly answer: HttpAnswer }[] = [];
    let wake = () => {};
    const listener = await start((request, answer) => {
      if (request.url === "/now") return void echo(request, answer);
      waiting.push({ request, answer });
      wake();
    });
    const next = async () => {
      while (waiting.length === 0) await new Promise<void>((resolve) => (wake = resolve));
      return waiting.shift() as (typeof waiting)[number];
    };
    return { listener, next, waiting };
  }

  describe("a request", () => {
    test("is told with its path, its fields in lower case, and its body", async () => {
      let seen: unknown;
      const listener = await start((request, answer) => {
        const { method, url, headers, httpVersionMajor } = request;
        void bodyOf(request).then((body) => {
          seen = { method, url, headers: { ...headers }, httpVersionMajor, body: body.toString("latin1") };
          answerWith(answer, "seen");
        });
      });
      const { socket, until } = connectTo(listener);
      const head =
        "POST /v1/x?y=1#z HTTP/1.1\r\nHost: h\r\nX-One: \t a b \r\nX-Two:\r\nx-three: \xe4\r\nContent-Length: 04\r\n\r\n";
      socket.write(`${head}b\xf6dy`, "latin1");
      await until("seen");
      const headers = { host: "h", "x-one": "a b", "x-two": "", "x-three": "\xe4", "content-length": "04" };
      expect(seen).toEqual({ method: "POST", url: "/v1/x?y=1#z", headers, httpVersionMajor: 1, body: "b\xf6dy" });
    });

    test.each([1, 2, 7, 50])("is read to the same in pieces of %i bytes, and so is the next", async (size) => {
      const listener = await start(echo);
      const { socket, until } = connectTo(listener);
      const text = post("/a", "slow") + post("/b", "slower");
      for (let at = 0; at < text.length; at += size)
        await new Promise((resolve) => socket.write(text.slice(at, at + size), resolve));
      expect(await until("POST /b slower")).toContain("POST /a slow");
    });

    test("that repeats the one before it but for its length or its credential is told as it is", async () => {
      const listener = await start((request, answer) => {
        void bodyOf(request).then((body) => {
          const { authorization, "content-length": told, "x-more": more } = request.headers;
          answerWith(answer, `${authorization} ${told} ${more} ${body.length}.`);
        });
      });
      const { socket, until } = connectTo(listener);
      for (let i = 0; i < 30; i++) {
        const body = "x".repeat(i ** 2);
        const credential = `Bearer ${"abc"[i % 3]}`;
        const more = i % 5 === 0 ? "x-more: y\r\n" : "";
        socket.write(post("/x", body, `authorization: ${credential}\r\n${more}`));
        await until(`${credential} ${body.length} ${more ? "y" : undefined} ${body.length}.`);
      }
    });

    test.each([
      ["another method", "PUT /x HTTP/1.1\r\nhost: h\r\ncontent-length: 4\r\n\r\nbody", "PUT /x body"],
      ["no version", "POST /x\r\nhost: h\r\ncontent-length: 4\r\n\r\nbody", "POST /x body"],
      ["no body", "GET /x HTTP/1.1\r\nhost: h\r\n\r\n", "GET /x "],
      ["HTTP/1.0", "POST /x HTTP/1.0\r\nhost: h\r\ncontent-length: 4\r\n\r\nbody", "POST /x body"],
      [
        "a whole address",
        "POST http://h/x HTTP/1.1\r\nhost: h\r\ncontent-length: 4\r\n\r\nbody",
        "POST http://h/x body",
      ],
      [
        "a body in chunks",
        "POST /x HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n",
        "POST /x body",
      ],
      ["an end of the connection", post("/x", "body", "connection: close\r\n"), "POST /x body"],
      ["an expectation", post("/x", "body", "expect: 100-continue\r\n"), "POST /x body"],
      ["trailers that it asks for", post("/x", "body", "te: trailers\r\n"), "POST /x body"],
    ])("with %s is answered", async (_, text, body) => {
      const listener = await start(echo);
      const { socket, until } = connectTo(listener);
      socket.write(text);
      expect(await until(body)).toContain("HTTP/1.1 200 OK\r\n");
    });

    const field = (line: string) => `POST /x HTTP/1.1\r\nhost: h\r\n${line}\r\ncontent-length: 4\r\n\r\nbody`;
    test.each([
      ["no host", "POST /x HTTP/1.1\r\ncontent-length: 4\r\n\r\nbody", 400],
      ["a space in the target", "POST /x y HTTP/1.1\r\nhost: h\r\ncontent-length: 4\r\n\r\nbody", 400],
      ["two lengths", field("content-length: 4"), 400],
      ["a signed length", "POST /x HTTP/1.1\r\nhost: h\r\ncontent-length: +4\r\n\r\nbody", 400],
      ["a length in hex", "POST /x HTTP/1.1\r\nhost: h\r\ncontent-length: 0x4\r\n\r\nbody", 400],
      ["an empty length", "POST /x HTTP/1.1\r\nhost: h\r\ncontent-length:\r\n\r\nbody", 400],
      [
        "a length that cannot be counted",
        "POST /x HTTP/1.1\r\nhost: h\r\ncontent-length: 99999999999999999999\r\n\r\nbody",
        400,
      ],
      ["chunks and a length", field("transfer-encoding: chunked"), 400],
      ["a folded line", field("x-one: a\r\n b"), 400],
      ["a space before the colon", field("x-one : a"), 400],
      ["a line without a colon", field("x-one"), 400],
      ["a name that is none", field("x(one): a"), 400],
      ["an empty name", field(": a"), 400],
      ["a zero byte", field("x-one: a\0b"), 400],
      ["a bare CR", field("x-one: a\rb"), 400],
      ["a head that is too long", field(`x-one: ${"a".repeat(17_000)}`), 431],
    ])("with %s is refused, and its connection closed", async (_, text, status) => {
      const listener = await start(echo);
      const { socket, until, untilClosed } = connectTo(listener);
      socket.write(post("/before", "x"));
      await until("POST /before x");
      socket.write(text, "latin1");
      const answers = await untilClosed();
      expect(answers).toContain(` ${status} `);
      expect(answers).not.toContain("POST /x");
    });

    test("whose head does not come whole is refused in time", async () => {
      const listener = await start(echo, { headersTimeoutMs: 500 });
      const { socket, untilClosed } = connectTo(listener);
      socket.write("POST /x HTTP/1.1\r\nhost: h\r\n");
      expect(await untilClosed()).toContain(" 408 ");
    });

    test("is published once to the diagnostics channel", async () => {
      const heard: unknown[] = [];
      const hear = (message: unknown) => void heard.push((message as { request: { url: string } }).request.url);
      subscribe("http.server.request.start", hear);
      onTestFinished(() => void unsubscribe("http.server.request.start", hear));
      const listener = await start(echo);
      const { socket, until } = connectTo(listener);
      socket.write(post("/one", "x"));
      await until("POST /one x");
      socket.write("GET /two HTTP/1.1\r\nhost: h\r\n\r\n");
      await until("GET /two ");
      expect(heard).toEqual(["/one", "/two"]);
    });
  });

  describe("a long body", () => {
    const body = Array.from({ length: 300_000 }, (_, i) => String.fromCharCode(32 + (i % 90))).join("");

    test.each([
      ["at once", body.length],
      ["a piece after another", 10_000],
      ["in small pieces", 999],
    ])("is read whole when it comes %s, and what comes behind it is the next request", async (_, size) => {
      const listener = await start(echo);
      const { socket, until } = connectTo(listener);
      const text = post("/long", body) + post("/next", "next");
      for (let at = 0; at < text.length; at += size)
        await new Promise((resolve) => socket.write(text.slice(at, at + size), resolve));
      expect(await until("POST /next next")).toContain(`POST /long ${body}`);
    });

    test("is thrown away where its request is refused, and the next request is served", async () => {
      const listener = await start((request, answer) => {
        if (request.url !== "/refused") return void echo(request, answer);
        discard(request, 5_000);
        answerWith(answer, "refused");
      });
      const { socket, until } = connectTo(listener);
      const text = post("/refused", body);
      socket.write(text.slice(0, 1_000));
      await until("refused");
      socket.write(text.slice(1_000) + post("/next", "next"));
      await until("POST /next next");
    });

    test("whose rest does not come in time after its refusal has its connection cut", async () => {
      const listener = await start((request, answer) => {
        discard(request, 300);
        answerWith(answer, "refused");
      });
      const { socket, untilClosed } = connectTo(listener);
      socket.write(post("/refused", body).slice(0, 1_000));
      expect(await untilClosed()).toContain("refused");
    });

    test.each([
      ["ends its side", (socket: Socket) => void socket.end()],
      ["is gone", (socket: Socket) => void socket.resetAndDestroy()],
    ])("whose client %s in its middle fails to be read", async (_, leave) => {
      const { listener, next } = await startAsked();
      const { socket } = connectTo(listener);
      socket.write(post("/x", body).slice(0, 1_000));
      const { request } = await next();
      const reading = bodyOf(request);
      leave(socket);
      await expect(reading).rejects.toThrow();
    });
  });

  describe("an answer", () => {
    test("says its length, its date, and how long its connection is kept", async () => {
      const listener = await start((_, answer) => answerWith(answer, "hello"));
      const { socket, until } = connectTo(listener);
      socket.write(post("/x", "x"));
      const text = await until("hello");
      const own = "date: \\w{3}, .* GMT\\r\\nconnection: keep-alive\\r\\nkeep-alive: timeout=65\\r\\n\\r\\nhello$";
      const isOtherCase = differs("writes the names of its own fields with capitals");
      expect(text).toMatch(new RegExp(`^HTTP/1\\.1 200 OK\\r\\ncontent-length: 5\\r\\n${own}`, isOtherCase ? "i" : ""));
    });

    test("goes out in chunks with its trailers where it has no length, and then the next answer", async () => {
      const { listener, next } = await startAsked();
      const { socket, until } = connectTo(listener);
      socket.write(post("/stream", "x"));
      const { answer } = await next();
      answer.writeHead(200, { "content-type": "text/plain", trailer: "x-cost" });
      answer.write(Buffer.from("one"));
      await until("3\r\none\r\n");
      answer.write(Buffer.from("seventeen letters"));
      answer.addTrailers({ "x-cost": "1" });
      answer.end(Buffer.from("!"));
      const text = await until("0\r\nx-cost: 1\r\n\r\n");
      expect(text).toMatch(/\r\ntransfer-encoding: chunked\r\n/i);
      const decoded: Buffer[] = [];
      new ChunkedDecoder().decode(Buffer.from(text.slice(text.indexOf("\r\n\r\n") + 4)), decoded);
      expect(Buffer.concat(decoded).toString()).toBe("oneseventeen letters!");
      socket.write(post("/now", "next"));
      await until("POST /now next");
    });

    test("of several requests that come together is in their order", async () => {
      const { listener, next, waiting } = await startAsked();
      const { socket, until } = connectTo(listener);
      socket.write(post("/a", "x") + post("/b", "x") + post("/now", "last"));
      const first = await next();
      for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
      answerWith(waiting[0]?.answer ?? first.answer, waiting[0] ? "b" : "a");
      answerWith(waiting[0] ? first.answer : (await next()).answer, waiting[0] ? "a" : "b");
      const text = await until("POST /now last");
      expect(text.match(/\r\n\r\n./g)?.map((end) => end.at(-1))).toEqual(["a", "b", "P"]);
    });

    test("is told that its reader lags, has caught up, and is gone", async () => {
      const { listener, next } = await startAsked();
      const { socket } = connectTo(listener);
      socket.pause();
      socket.write(post("/stream", "x"));
      const { answer } = await next();
      answer.writeHead(200, {});
      while (answer.write(Buffer.alloc(1 << 20, "x")));
      expect(answer.writableNeedDrain).toBe(true);
      const drained = new Promise<void>((resolve) => answer.once("drain", resolve));
      socket.resume();
      await drained;
      const gone = new Promise<void>((resolve) => answer.on("close", resolve));
      socket.destroy();
      await gone;
    });

    test("is told that its client ends its side while it waits", async () => {
      const { listener, next } = await startAsked();
      const { socket } = connectTo(listener);
      socket.write(post("/wait", "x"));
      const { request, answer } = await next();
      await bodyOf(request);
      const gone = new Promise<void>((resolve) => answer.on("close", resolve));
      socket.end();
      await gone;
    });

    test("that says `connection: close` is the last of its connection", async () => {
      const listener = await start((_, answer) => {
        answer.writeHead(200, { ...length("last"), connection: "close" });
        answer.end(Buffer.from("last"));
      });
      const { socket, untilClosed } = connectTo(listener);
      socket.write(post("/x", "x") + post("/y", "y"));
      const text = await untilClosed();
      expect(text.match(/HTTP\/1\.1 200/g)).toHaveLength(1);
      expect(text.match(/^connection: .*$/gim)).toEqual(["connection: close"]);
    });

    test("that is destroyed cuts its connection", async () => {
      const { listener, next } = await startAsked();
      const { socket, untilClosed } = connectTo(listener);
      socket.write(post("/x", "x"));
      const { answer } = await next();
      answer.writeHead(200, {});
      answer.write(Buffer.from("one"));
      answer.destroy();
      expect(await untilClosed()).not.toContain("0\r\n\r\n");
    });

    test("is refused a field that would end its line", async () => {
      const { listener, next } = await startAsked();
      const { socket } = connectTo(listener);
      socket.write(post("/x", "x"));
      const { answer } = await next();
      for (const bad of ["a\r\nx-evil: 1", "a\n", "\0", "\u010d\u010aa"])
        expect(() => answer.writeHead(200, { "x-one": bad })).toThrow(TypeError);
    });

    test("closes when it has ended, or with its connection", async () => {
      const { listener, next } = await startAsked();
      const { socket, until } = connectTo(listener);
      socket.write(post("/x", "x"));
      const { request, answer } = await next();
      await bodyOf(request);
      let isClosed = false;
      answer.on("close", () => {
        isClosed = true;
      });
      answerWith(answer, "hello");
      await until("hello");
      for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
      expect(isClosed).toBe(differs("closes an answer with each answer's end"));
    });
  });

  describe("a port that closes", () => {
    test("ends its idle connections at once, and others with their answers", async () => {
      const { listener, next } = await startAsked();
      const idle = connectTo(listener);
      idle.socket.write(post("/now", "x"));
      await idle.until("POST /now x");
      const busy = connectTo(listener);
      busy.socket.write(post("/wait", "x"));
      const { answer } = await next();
      const closed = listener.close(10_000);
      await idle.untilClosed();
      answerWith(answer, "ok");
      const text = await busy.untilClosed();
      const isKept = differs("promises to keep a connection that is closed with its last answer");
      expect(text.toLowerCase()).toContain(`connection: ${isKept ? "keep-alive" : "close"}\r\n`);
      expect(text).toMatch(/ok$/);
      await closed;
    });

    test("has all of a long answer read, however slowly", async () => {
      const { listener, next } = await startAsked();
      const { socket } = connectTo(listener);
      socket.pause();
      socket.write(post("/long", "x"));
      const { answer } = await next();
      const closed = listener.close(20_000);
      const body = Buffer.alloc(8 << 20, "x");
      answer.writeHead(200, { "content-length": `${body.length}` });
      answer.end(body);
      await new Promise((resolve) => setTimeout(resolve, 1_500));
      let bytes = 0;
      socket.on("data", (piece) => {
        bytes += piece.length;
      });
      socket.resume();
      await once(socket, "close");
      expect(bytes).toBeGreaterThan(body.length);
      await closed;
    });

    test("cuts a connection whose answer takes longer than the grace", async () => {
      const { listener, next } = await startAsked();
      const { socket, untilClosed } = connectTo(listener);
      socket.write(post("/wait", "x"));
      await next();
      const closed = listener.close(50);
      await untilClosed();
      await closed;
    });
  });
});
