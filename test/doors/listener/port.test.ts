/**
 * One port speaks HTTP/1.1 and HTTP/2, however slowly the first bytes arrive.
 */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { type IncomingMessage, request, type ServerResponse } from "node:http";
import { type ClientHttp2Session, connect as connectHttp2, type IncomingHttpHeaders } from "node:http2";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { type Listener, type ListenOptions, listen } from "../../../src/doors/listener/listen.ts";
import { startTestGateway, type TestGateway } from "../../support/gateway.ts";

const run = promisify(execFile);

/** Listens with a handler that answers with the method, the HTTP version and the size of the body. */
async function startPort(options: Partial<ListenOptions> = {}): Promise<Listener> {
  const listener = await listen({
    host: "127.0.0.1",
    port: 0,
    handle: async (req, res) => {
      let bytes = 0;
      for await (const chunk of req) bytes += chunk.length;
      res.writeHead(200, { "content-type": "text/plain" });
      res.end(`${req.method} ${req.httpVersionMajor} ${bytes}`);
    },
    rejectionBody: (status) => Buffer.from(JSON.stringify({ status })),
    ...options,
  });
  onTestFinished(() => listener.close(0));
  return listener;
}

/** Leads to the port, and hands the client's first bytes on in pieces of this size. */
async function dribbling(port: number, pieceBytes: number): Promise<number> {
  let left = 400;
  const server = createServer((client) => {
    const target = connect(port, "127.0.0.1").setNoDelay();
    client.on("error", () => target.destroy());
    target.on("error", () => client.destroy());
    target.pipe(client);
    (async () => {
      for await (const chunk of client as AsyncIterable<Buffer>) {
        let from = 0;
        for (; from < chunk.length && left > 0; from += pieceBytes, left -= pieceBytes) {
          await new Promise((resolve) => target.write(chunk.subarray(from, from + pieceBytes), resolve));
          // Lets the port read this piece before the next one comes.
          await new Promise(setImmediate);
        }
        if (from < chunk.length) target.write(chunk.subarray(from));
      }
      target.end();
    })().catch(() => target.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

async function http1(port: number, method: string, body: Buffer, path = "/"): Promise<string> {
  const req = request({ port, method, path, agent: false, headers: { "content-length": body.length } });
  req.end(body);
  const [res] = await once(req, "response");
  return Buffer.concat(await res.toArray()).toString();
}

function http2Session(port: number): ClientHttp2Session {
  const session = connectHttp2(`http://127.0.0.1:${port}`);
  onTestFinished(() => session.destroy());
  return session;
}

async function http2(port: number, headers: Record<string, string>, body: Buffer) {
  const stream = http2Session(port).request(headers);
  stream.end(body);
  const [answered] = (await once(stream, "response")) as [IncomingHttpHeaders & { ":status": number }];
  return { headers: answered, body: Buffer.concat(await stream.toArray()).toString() };
}

/** Writes the bytes on a bare connection and returns all that comes back until it closes. */
async function raw(port: number, text: string): Promise<{ answer: string; socket: Socket }> {
  const socket = connect(port, "127.0.0.1");
  socket.write(text);
  return { answer: Buffer.concat(await socket.toArray()).toString(), socket };
}

describe("the first bytes", () => {
  for (const pieceBytes of [1, 3, 10, 24]) {
    test(`show HTTP/1.1 when they arrive ${pieceBytes} at a time`, async () => {
      const { port } = await startPort();
      expect(await http1(await dribbling(port, pieceBytes), "POST", Buffer.alloc(1000))).toBe("POST 1 1000");
    });

    test(`show HTTP/2 when they arrive ${pieceBytes} at a time`, async () => {
      const { port } = await startPort();
      const answer = await http2(await dribbling(port, pieceBytes), { ":method": "POST" }, Buffer.alloc(1000));
      expect(answer.body).toBe("POST 2 1000");
    });

    test(`of a PUT are not taken for the preface, which begins alike, ${pieceBytes} at a time`, async () => {
      const { port } = await startPort();
      expect(await http1(await dribbling(port, pieceBytes), "PUT", Buffer.alloc(10))).toBe("PUT 1 10");
    });
  }

  for (const text of [
    "PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n",
    "PRI * HTTP/1.1\r\n\r\n",
    "PRI / HTTP/1.1\r\nhost: h\r\n\r\n",
  ]) {
    test(`that begin like the preface and are none are refused: ${JSON.stringify(text)}`, async () => {
      const { port } = await startPort();
      const { answer } = await raw(port, text);
      expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    });
  }
});

describe("a body of 6 MiB", () => {
  const body = Buffer.alloc(6 * 1024 * 1024, "x");

  test("arrives whole over HTTP/1.1", async () => {
    const { port } = await startPort();
    expect(await http1(port, "POST", body)).toBe(`POST 1 ${body.length}`);
  });

  test("arrives whole over HTTP/2", async () => {
    const { port } = await startPort();
    expect((await http2(port, { ":method": "POST" }, body)).body).toBe(`POST 2 ${body.length}`);
  });
});

describe("a client that stops sending", () => {
  for (const [what, sent] of [
    ["says nothing", ""],
    ["stops within the HTTP/2 preface", "PRI * HT"],
  ] as const) {
    test(`is cut when it ${what}`, async () => {
      const { port } = await startPort({ sniffTimeoutMs: 50 });
      const begun = performance.now();
      const { answer } = await raw(port, sent);
      expect(answer).toBe("");
      expect(performance.now() - begun).toBeGreaterThan(40);
    });

    test(`does not delay the end of the gateway when it ${what}`, async () => {
      // A process of its own, which a timer that is left would keep for a minute.
      const script = `
        import { once } from "node:events";
        import { connect } from "node:net";
        import { listen } from ${JSON.stringify(new URL("../../../src/doors/listener/listen.ts", import.meta.url))};
        const handle = (req, res) => res.end("over");
        const listener = await listen({ host: "127.0.0.1", port: 0, sniffTimeoutMs: 60_000, handle });
        const silent = connect(listener.port, "127.0.0.1");
        const closed = once(silent, "close");
        await once(silent, "connect");
        silent.resume().write(${JSON.stringify(sent)});
        // By now the port has accepted the connection before.
        console.log(await (await fetch("http://127.0.0.1:" + listener.port, { headers: { connection: "close" } })).text());
        await listener.close(60_000);
        await closed;`;
      const { stdout } = await run(process.execPath, ["--input-type=module", "-e", script], { timeout: 15_000 });
      expect(stdout).toBe("over\n");
    });
  }

  test("does not delay the end of the gateway when it has left in the middle of a discarded body", async () => {
    const script = `
      import { once } from "node:events";
      import { createServer } from "node:http";
      import { connect } from "node:net";
      import { discard } from ${JSON.stringify(new URL("../../../src/doors/body/body.ts", import.meta.url))};
      const server = createServer((req, res) => {
        discard(req, 60_000);
        res.writeHead(401).end("refused");
      });
      await once(server.listen(0, "127.0.0.1"), "listening");
      const client = connect(server.address().port, "127.0.0.1");
      client.write("POST / HTTP/1.1\\r\\nhost: h\\r\\ntransfer-encoding: chunked\\r\\n\\r\\n5\\r\\nbegin\\r\\n");
      const [answer] = await once(client, "data");
      console.log(String(answer).slice(9, 12));
      client.destroy();
      server.close();`;
    const { stdout } = await run(process.execPath, ["--input-type=module", "-e", script], { timeout: 15_000 });
    expect(stdout).toBe("401\n");
  });

  test("gets a 408 when its headers do not end", async () => {
    const { port } = await startPort({ headersTimeoutMs: 50 });
    const { answer } = await raw(port, "GET / HTTP/1.1\r\nhost: x\r\n");
    expect(answer).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n/);
    expect(answer).toContain('{"status":408}');
  });

  test("is not cut after its first bytes have arrived", async () => {
    const { port } = await startPort({ sniffTimeoutMs: 50, headersTimeoutMs: 60_000 });
    const slow = connect(port, "127.0.0.1");
    slow.write("GET / HTTP/1.1\r\nhost: x\r\n");
    await raw(port, ""); // This one was cut: as much time has passed for the other.
    slow.end("\r\n");
    expect(Buffer.concat(await slow.toArray()).toString()).toMatch(/^HTTP\/1\.1 200 /);
  });

  test("is served if its bytes have arrived while the process was busy", async () => {
    const { port } = await startPort({ sniffTimeoutMs: 500 });
    const socket = connect(port, "127.0.0.1");
    await once(socket, "connect");
    await http1(port, "GET", Buffer.alloc(0)); // By now the port has accepted the connection before.
    socket.end("GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    const until = performance.now() + 700;
    while (performance.now() < until);
    expect(Buffer.concat(await socket.toArray()).toString()).toMatch(/^HTTP\/1\.1 200 /);
  });
});

describe("HTTP/1.1 besides requests for paths", () => {
  test.each(["", "200-ok"])("an expectation of %j is no reason to refuse", async (expectation) => {
    const { port } = await startPort();
    const { answer } = await raw(
      port,
      `POST / HTTP/1.1\r\nhost: x\r\nexpect: ${expectation}\r\ncontent-length: 2\r\nconnection: close\r\n\r\nab`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    expect(answer).toContain("POST 1 2");
  });

  test("CONNECT is answered with 405: the gateway is no proxy", async () => {
    const { port } = await startPort();
    const { answer } = await raw(port, "CONNECT example.com:443 HTTP/1.1\r\nhost: example.com:443\r\n\r\n");
    expect(answer).toMatch(/^HTTP\/1\.1 405 Method Not Allowed\r\n/);
    expect(answer).toMatch(/\r\nallow: GET, POST, DELETE\r\n/);
    expect(answer).toMatch(/\r\nx-request-id: req_\w+\r\n/);
    expect(answer).toContain('{"status":405}');
  });
});

describe("requests behind an answer with which the connection ends", () => {
  const get = "GET /behind HTTP/1.1\r\nhost: x\r\n\r\n";
  const post = "POST /behind HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}";
  const expecting = "POST /behind HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n{}";
  const hostless = "POST / HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}";
  const last = "POST /last HTTP/1.1\r\nhost: x\r\nte: trailers\r\ncontent-length: 2\r\n\r\n{}";

  test.each([get, post, expecting])("are not begun: %j", async (behind) => {
    for (const [first, status] of [
      [hostless, 400],
      [last, 413],
    ] as const) {
      const begun: string[] = [];
      const { port } = await startPort({
        handle: (req, res) => {
          begun.push(req.url ?? "");
          if (req.url === "/last") res.writeHead(413, { connection: "close", "content-length": "0" }).end();
          else res.end("done");
        },
      });
      const { answer } = await raw(port, `${get}${first}${behind}${behind}`);
      expect(answer.match(/HTTP\/1\.1 (\d+)/g)).toEqual(["HTTP/1.1 200", `HTTP/1.1 ${status}`]);
      expect(begun).toEqual(status === 413 ? ["/behind", "/last"] : ["/behind"]);
    }
  });
});

describe("what Node answers on the bare connection", () => {
  const before = [
    "GET / HTTP/1.1\r\nhost: x\r\n\r\n",
    "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 6\r\n\r\n{\r\n\r\n}",
    "POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n5\r\n\r\n\r\nb\r\n0\r\n\r\n",
  ];
  const behind = [
    ["GET / HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n", 101],
    ["CONNECT x:443 HTTP/1.1\r\nhost: x:443\r\n\r\n", 405],
    ["\0 no HTTP \r\n\r\n", 400],
  ] as const;

  /** Ends an answer once its client has sent nothing more for some turns of the event loop. */
  function endLater(req: IncomingMessage, res: ServerResponse, turns = 20, seen = 0): void {
    if (turns === 0) return void res.end("done");
    const { bytesRead } = req.socket;
    setImmediate(() => endLater(req, res, bytesRead === seen ? turns - 1 : 20, bytesRead));
  }

  test.each(behind)(
    "follows the answers to the requests before, wherever the bytes are cut: %j",
    async (last, status) => {
      const upgrades: ListenOptions["upgrades"] = {
        wants: () => true,
        take: (_, socket) => void socket.end("HTTP/1.1 101 Switching Protocols\r\n\r\n"),
      };
      const { port } = await startPort({ upgrades, handle: (req, res) => endLater(req.resume(), res) });
      const answersTo = async (bytes: string, cut: number) => {
        const socket = connect(port, "127.0.0.1").setNoDelay();
        let answer = "";
        socket.on("data", (piece) => (answer += piece)).on("error", () => {});
        await new Promise((resolve) => socket.write(bytes.slice(0, cut), resolve));
        await new Promise(setImmediate);
        socket.write(bytes.slice(cut));
        await once(socket, "close");
        return answer.match(/HTTP\/1\.1 \d+/g);
      };
      for (const first of before) {
        const bytes = first + first + last;
        const cuts = Array.from(bytes, (_, at) => at);
        const answers = await Promise.all(cuts.map((cut) => answersTo(bytes, cut)));
        for (const one of answers) expect(one).toEqual(["HTTP/1.1 200", "HTTP/1.1 200", `HTTP/1.1 ${status}`]);
      }
    },
  );
});

describe("bytes that are no HTTP", () => {
  test("never change an answer that has begun", async () => {
    const { port } = await startPort({
      handle: (_, res) => {
        res.writeHead(200, { "content-type": "text/plain" });
        res.write("begun");
      },
    });
    const socket = connect(port, "127.0.0.1");
    socket.write("POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n");
    let answer = "";
    for await (const chunk of socket) {
      if (!answer.includes("begun") && `${answer}${chunk}`.includes("begun")) socket.write("\0 no chunk \r\n\r\n");
      answer += chunk;
    }
    expect(answer).toContain("begun");
    expect(answer.match(/HTTP\/1\.1/g)).toHaveLength(1);
  });

  test("wait for the answer to the request before them, and are refused then", async () => {
    let endAnswer = () => {};
    const { port } = await startPort({
      handle: (_, res) => {
        res.writeHead(200, { "content-type": "text/plain" });
        res.write("begun");
        endAnswer = () => void res.end("ended");
      },
    });
    const socket = connect(port, "127.0.0.1");
    socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
    let answer = "";
    for await (const chunk of socket) {
      if (!answer.includes("begun") && `${answer}${chunk}`.includes("begun"))
        socket.write("\0 no HTTP \r\n\r\n", () => endAnswer());
      answer += chunk;
    }
    expect(answer).toMatch(/^HTTP\/1\.1 200 .*begun.*ended\r\n0\r\n\r\nHTTP\/1\.1 400 /s);
  });

  test("are refused even after a complete answer", async () => {
    const { port } = await startPort();
    const socket = connect(port, "127.0.0.1");
    socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
    let answer = "";
    for await (const chunk of socket) {
      if (!answer.includes("GET 1 0") && `${answer}${chunk}`.includes("GET 1 0")) socket.write("\0 no HTTP \r\n\r\n");
      answer += chunk;
    }
    expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 200", "HTTP/1.1 400"]);
  });

  test("end the connection even if the client keeps its own end open", async () => {
    const listener = await startPort();
    const socket = connect({ port: listener.port, host: "127.0.0.1", allowHalfOpen: true });
    socket.write("\0 no HTTP \r\n\r\n");
    socket.resume();
    await once(socket, "end");
    await listener.close(60_000);
    socket.destroy();
  });
});

describe("the gateway's port", () => {
  let gateway: TestGateway;

  beforeAll(async () => {
    gateway = await startTestGateway();
  });

  afterAll(() => gateway.close());

  const chat = { model: "embedded-chat", messages: [{ role: "user", content: "Hello over HTTP/2" }] };

  function call(body: unknown) {
    const headers = {
      ":method": "POST",
      ":path": "/v1/chat/completions",
      authorization: `Bearer ${gateway.apiKey}`,
      "content-type": "application/json",
    };
    return http2(gateway.port, headers, Buffer.from(JSON.stringify(body)));
  }

  test("answers a REST call over HTTP/2 as over HTTP/1.1", async () => {
    const overHttp2 = await call(chat);
    const overHttp1 = await fetch(`${gateway.baseUrl}/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${gateway.apiKey}` },
      body: JSON.stringify(chat),
    });
    expect(overHttp2.headers).toMatchObject({ ":status": 200, "content-type": "application/json" });
    expect(overHttp2.headers["x-request-id"]).toMatch(/^req_/);
    expect(JSON.parse(overHttp2.body)).toEqual(await overHttp1.json());
  });

  test("streams a REST call over HTTP/2", async () => {
    const { headers, body } = await call({ ...chat, stream: true });
    expect(headers).toMatchObject({ ":status": 200, "content-type": "text/event-stream; charset=utf-8" });
    expect(body).toMatch(/^(data: \{[^\n]*\}\n\n)+data: \[DONE\]\n\n$/);
  });

  test("refuses over HTTP/2 in the family's form", async () => {
    const { headers, body } = await call({ ...chat, messages: 1 });
    expect(headers[":status"]).toBe(400);
    expect(JSON.parse(body).error).toMatchObject({ type: "invalid_request_error", param: "messages" });
  });

  for (const [what, text, status] of [
    ["broken syntax", "POST /v1/chat/completions HTTP/1.1\r\nhost x\r\n\r\n", 400],
    ["what is no HTTP at all", "\x16\x03\x01\x02\x00\x01\x00", 400],
    ["headers that are too large", `GET / HTTP/1.1\r\nx: ${"a".repeat(1024 * 1024)}\r\n\r\n`, 431],
    ["a request without a host", "GET / HTTP/1.1\r\n\r\n", 400],
  ] as const) {
    test(`refuses ${what} with JSON in the family's form`, async () => {
      const { answer } = await raw(gateway.port, text);
      const [head = "", body = ""] = answer.split("\r\n\r\n");
      expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
      expect(head).toMatch(/^content-type: application\/json$/im);
      const ids = [...head.matchAll(/^(?:x-)?request-id: (req_\w+)$/gim)].map(([, id]) => id);
      expect(ids).toEqual([ids[0], ids[0]]);
      const { error } = JSON.parse(body);
      expect(Object.keys(error)).toEqual(["message", "type", "param", "code"]);
      expect(error).toMatchObject({ type: "invalid_request_error", param: null, code: null });
    });
  }
});
