/** Requests that come many in one piece are served in their order, a few at a time, and what follows them is not lost. */
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { createPipelinedRequests } from "../../../src/doors/listener/pipelined-requests.ts";
import { takeConnectionListener } from "../../../src/http1/server/index.ts";
import { frameOf } from "../../support/clients/response-sockets.ts";
import { eventually } from "../../support/eventually.ts";
import { startTestGateway, type TestGateway } from "../../support/gateway.ts";

let gateway: TestGateway;
const open: Socket[] = [];

beforeAll(async () => {
  gateway = await startTestGateway();
});
afterEach(async () => {
  for (const socket of open.splice(0)) socket.destroy();
  await eventually(() => expect(gateway.counts()).toMatchObject({ http1: 0, websocket: 0 }));
});
afterAll(() => gateway.close());

/** Sends bytes at once, and returns what has come back so far. */
function send(bytes: string | Buffer): () => string {
  const socket = connect(gateway.port, "127.0.0.1");
  open.push(socket);
  let text = "";
  socket.on("error", () => {}).on("data", (piece) => (text += piece.toString("latin1")));
  socket.write(bytes);
  return () => text;
}

const credential = () => `host: h\r\nauthorization: Bearer ${gateway.apiKey}\r\n`;
const getModel = (id: string) => `GET /v1/models/${id} HTTP/1.1\r\n${credential()}\r\n`;
const handshake = () =>
  `GET /v1/responses HTTP/1.1\r\n${credential()}connection: Upgrade\r\nupgrade: websocket\r\n` +
  "sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
const many = (count: number) => Array.from({ length: count }, (_, i) => getModel(`none-${i}`));
/** The models that answers name, in their order. */
const named = (text: string) => [...text.matchAll(/none-(\d+)/g)].map(([, i]) => Number(i));
const upTo = (count: number) => Array.from({ length: count }, (_, i) => i);

test("a thousand in one piece are answered in their order", async () => {
  const received = send(many(1_000).join(""));
  await eventually(() => expect(named(received())).toEqual(upTo(1_000)));
});

test("cut anywhere, they are answered in their order", async () => {
  const bytes = many(40).join("");
  for (let step = 1; step < 200; step += 37) {
    const socket = connect(gateway.port, "127.0.0.1").setNoDelay();
    open.push(socket);
    let text = "";
    socket.on("data", (piece) => (text += piece.toString("latin1")));
    for (let at = 0; at < bytes.length; at += step) socket.write(bytes.slice(at, at + step));
    await eventually(() => expect(named(text)).toEqual(upTo(40)));
  }
});

test("one whose answers are not read for a while gets all of them", async () => {
  const socket = connect(gateway.port, "127.0.0.1");
  open.push(socket);
  const count = 3_000;
  socket.pause().write(`${`GET /openapi.json HTTP/1.1\r\n${credential()}\r\n`.repeat(8)}${many(count).join("")}`);
  await eventually(() => expect(gateway.counts().http1).toBe(1));
  let text = "";
  socket.on("data", (piece) => (text = (text + piece.toString("latin1")).slice(-2_000_000))).resume();
  await eventually(() => expect(named(text).at(-1)).toBe(count - 1));
});

test.each([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 100])(
  "bodies among them are whole, with %i blank lines in them",
  async (blankLines) => {
    // A body that is cut has no model.
    const form = `voice=alloy&input=a${"\r\n\r\nb".repeat(blankLines)}&model=none-6`;
    const head = `POST /v1/audio/speech HTTP/1.1\r\n${credential()}content-type: application/x-www-form-urlencoded\r\n`;
    const plain = `${head}content-length: ${form.length}\r\n\r\n${form}`;
    const chunked = `${head}transfer-encoding: chunked\r\n\r\n${form.length.toString(16)}\r\n${form}\r\n0\r\n\r\n`;
    const received = send([plain, ...many(6), plain, chunked, ...many(6)].join(""));
    await eventually(() => {
      expect(named(received())).toEqual([6, ...upTo(6), 6, 6, ...upTo(6)]);
      expect(received().match(/HTTP\/1\.1 \d+/g)).toHaveLength(15);
    });
  },
);

test("a handshake behind them is served, with the frames that came with it", async () => {
  const frames = Array.from({ length: 9 }, (_, i) => frameOf(Buffer.from(`\r\n\r\n${i}\r\n\r\n`), { opcode: 9 }));
  for (let before = 0; before < 10; before++) {
    const received = send(Buffer.concat([Buffer.from(many(before).join("") + handshake()), ...frames]));
    const pongs = upTo(9).map((i) => `\r\n\r\n${i}\r\n\r\n`);
    await eventually(() => {
      expect(named(received())).toEqual(upTo(before));
      expect(received()).toContain("HTTP/1.1 101 ");
      expect([...received().matchAll(/\r\n\r\n\d\r\n\r\n/g)].map(([pong]) => pong)).toEqual(pongs);
    });
  }
});

test.each([1, 3, 4, 12])(
  "frames that come while a handshake waits behind %i pages follow those before",
  async (pages) => {
    const page = `GET /openapi.json HTTP/1.1\r\n${credential()}\r\n`.repeat(pages);
    const frames = Array.from({ length: 8 }, (_, i) => frameOf(Buffer.from(`<${i}>`), { opcode: 9 }));
    const socket = connect(gateway.port, "127.0.0.1").setNoDelay().pause();
    open.push(socket);
    for (const pieces of [[Buffer.from(page + handshake()), ...frames.slice(0, 4)], frames.slice(4)]) {
      socket.write(Buffer.concat(pieces));
      // Once another client has its answer, the gateway waits for this one to read.
      const other = send(`GET /healthz HTTP/1.1\r\n${credential()}\r\n`);
      await eventually(() => expect(other()).toContain("200 OK"));
    }
    let text = "";
    socket.on("data", (piece) => (text = (text + piece.toString("latin1")).slice(-1_000))).resume();
    await eventually(() => expect([...text.matchAll(/<(\d)>/g)].map(([, i]) => Number(i))).toEqual(upTo(8)));
  },
);

test("no more is read ahead of a client that reads its answers slowly and asks on and on", async () => {
  const answers = new WeakMap<Socket, ServerResponse>();
  const server = createServer((req, res) => {
    answers.set(req.socket, res);
    res.end(Buffer.alloc(200_000));
  });
  const pipelined = createPipelinedRequests(takeConnectionListener(server), (socket) => answers.get(socket));
  let served: Socket | undefined;
  server.on("connection", (socket: Socket) => {
    served = socket;
    pipelined.serve(socket);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const request = "GET / HTTP/1.1\r\nhost: h\r\n\r\n";
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  open.push(socket);
  socket.on("error", () => {}).write(request.repeat(200_000));
  const isRead = new Promise((resolve) => {
    let bytes = 0;
    socket.on("data", (piece) => {
      bytes += piece.length;
      if (bytes > 300 * 200_000) resolve(bytes);
    });
  });
  await isRead;
  const readAhead = (served?.bytesRead ?? 0) - 300 * request.length;
  socket.destroy();
  server.close();
  expect(readAhead).toBeLessThan(1_000_000);
});
