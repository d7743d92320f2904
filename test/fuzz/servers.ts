/**
 * The gateway's own HTTP/1.1 server and Node's, each with a handler that writes down what it is told; and a client that sends
 * bytes to either and says what became of them.
 */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { isHeadFaulty } from "../../src/doors/listener/faulty-heads.ts";
import { listen } from "../../src/doors/listener/listen.ts";
import type { HttpAnswer } from "../../src/http1/server/answer.ts";
import { IncomingBody } from "../../src/http1/server/incoming-body.ts";
import type { PlainRequest } from "../../src/http1/server/request.ts";

/** A request as its handler was told of it, all of it: method, target, fields, body. */
export type Told = readonly [method: string, url: string, fields: Readonly<Record<string, unknown>>, body: string];

/** What became of the bytes of a connection. */
export interface Served {
  readonly told: readonly Told[];
  readonly statuses: readonly string[];
  /** Whether the server has ended the connection. */
  readonly isClosed: boolean;
}

export interface Servers {
  own(pieces: readonly string[], patience?: number): Promise<Served>;
  node(pieces: readonly string[], patience?: number): Promise<Served>;
  close(): Promise<void>;
}

/** Turns of the event loop in which nothing happens, after which nothing more is waited for. */
const quietTurns = 12;

export async function startServers(): Promise<Servers> {
  const told = new Map<string, Told[]>();
  const sockets = new Map<string, Socket>();
  const onSocket = (message: unknown) => {
    const { socket } = message as { socket: Socket };
    sockets.set(keyOf(socket.localPort, socket.remotePort), socket);
  };
  subscribe("net.server.socket", onSocket);
  const tell = (key: string, method = "", url = "", fields: object = {}, body: Buffer) =>
    void told.get(key)?.push([method, url, { ...fields }, body.toString("latin1")]);
  const handle = (req: IncomingMessage, res: HttpAnswer) => {
    const key = keyOf(req.socket.localPort, req.socket.remotePort);
    const pieces: Buffer[] = [];
    req.on("data", (piece) => pieces.push(piece)).on("error", () => {});
    req.on("end", () => {
      tell(key, req.method, req.url, req.headers, Buffer.concat(pieces));
      answer(req.url, res);
    });
  };
  const handlePlain = ({ method, url, headers, body, socket }: PlainRequest) => {
    const key = keyOf(socket.localPort, socket.remotePort);
    const fields = { ...headers };
    return (res: HttpAnswer) => {
      const take = (whole: Buffer | undefined) => {
        if (!whole) return;
        tell(key, method, url, fields, whole);
        answer(url, res);
      };
      if (body instanceof IncomingBody) body.take(take, () => {});
      else take(body);
    };
  };
  const common = { host: "127.0.0.1", port: 0, handlePlain, rejectionBody: () => Buffer.from("no") };
  const own = await listen({ ...common, handle: handle as never });
  // What the listener refuses of its own accord, where Node takes the first of two fields.
  const handleAtNode = (req: IncomingMessage, res: ServerResponse) => {
    if (isHeadFaulty(req)) res.writeHead(400, { connection: "close" }).end("no");
    else handle(req, res);
  };
  const node = createServer({ requireHostHeader: false }, handleAtNode);
  node.on("checkExpectation", handleAtNode);
  await new Promise<void>((resolve) => node.listen(0, "127.0.0.1", resolve));
  const nodePort = (node.address() as AddressInfo).port;
  const play =
    (port: number) =>
    (pieces: readonly string[], patience: number = quietTurns) =>
      exchange(port, pieces, patience, told, sockets);
  return {
    ...{ own: play(own.port), node: play(nodePort) },
    async close() {
      unsubscribe("net.server.socket", onSocket);
      node.closeAllConnections();
      await new Promise((resolve) => node.close(resolve));
      await own.close(0);
    },
  };
}

/** Names a connection. Clients of either server may have the same port. */
const keyOf = (serverPort: number | undefined, clientPort: number | undefined) => `${serverPort}:${clientPort}`;

/** Some answers come in a later turn, so that requests wait for each other. */
function answer(url: string | undefined, res: HttpAnswer): void {
  const end = () => {
    res.writeHead(200, { "content-length": "2" });
    res.end(Buffer.from("ok"));
  };
  if (url === "/later") setImmediate(end);
  else end();
}

async function exchange(
  port: number,
  pieces: readonly string[],
  patience: number,
  told: Map<string, Told[]>,
  sockets: Map<string, Socket>,
): Promise<Served> {
  const client = connect({ port, host: "127.0.0.1", noDelay: true });
  let received = "";
  let isClosed = false;
  client.on("data", (bytes) => (received += bytes.toString("latin1"))).on("error", () => {});
  client.on("close", () => (isClosed = true));
  await new Promise<void>((resolve) => client.once("connect", resolve).once("close", resolve));
  const own = keyOf(port, client.localPort);
  const list: Told[] = [];
  told.set(own, list);
  const total = pieces.reduce((sum, { length }) => sum + length, 0);
  for (const piece of pieces) {
    if (isClosed) break;
    client.write(piece, "latin1");
    await turn();
    await turn();
  }
  const state = () => `${sockets.get(own)?.bytesRead} ${list.length} ${received.length} ${isClosed}`;
  const isRead = () => isClosed || sockets.get(own)?.destroyed || (sockets.get(own)?.bytesRead ?? 0) >= total;
  let last = "";
  for (let quiet = 0, turns = 0; quiet < patience || (!isRead() && turns < 2_000); turns++) {
    await turn();
    const now = state();
    quiet = now === last ? quiet + 1 : 0;
    last = now;
  }
  const isOver = isClosed;
  client.destroy();
  told.delete(own);
  sockets.delete(own);
  return { told: [...list], statuses: statusesIn(received), isClosed: isOver };
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** No body that is sent has a status line. */
function statusesIn(text: string): string[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => status as string);
}
