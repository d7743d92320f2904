/**
 * Both clients of an upstream behind their contract, a scripted server for them, and a handler that writes down what it is
 * called with.
 */
import { type AddressInfo, createServer, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import {
  type CreateUpstreamClient,
  createConnectionPool,
  type ReplyHandler,
  type SentRequest,
  type UpstreamClient,
  type UpstreamRequest,
} from "../../../src/http1/client/index.ts";
import { createUndiciClient } from "../../../src/providers/upstream/undici.ts";

export interface ClientEngine {
  readonly name: "http1" | "undici";
  readonly create: CreateUpstreamClient;
}

export const engines: readonly ClientEngine[] = [
  { name: "http1", create: createConnectionPool },
  { name: "undici", create: createUndiciClient },
];

export const timeouts = { connectMs: 5_000, firstByteMs: 5_000, idleMs: 5_000 };

/** What a handler was called with. */
export interface Outcome {
  status?: number;
  fields?: Readonly<Record<string, unknown>>;
  body: string;
  isSent: boolean;
  /** An error, or the phase that took too long. */
  end?: "ended" | Error | string;
}

export interface ScriptedServer {
  readonly client: UpstreamClient;
  /** The server's ends of all connections, the first first. */
  readonly sockets: readonly Socket[];
  /** All that has come, one byte a character. */
  received(): string;
}

/** Starts a server that calls `script` for each request, and a client for it, until the test is over. */
export async function startScripted(
  create: CreateUpstreamClient,
  script: (socket: Socket, count: number) => void,
  bounds = timeouts,
): Promise<ScriptedServer> {
  const sockets: Socket[] = [];
  let requests = 0;
  let text = "";
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.push(socket);
    socket.on("error", () => {});
    socket.on("data", (bytes) => {
      text += bytes.toString("latin1");
      if (bytes.includes("\r\n\r\n")) script(socket, ++requests);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const client = create(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, bounds);
  onTestFinished(() => client.close());
  return { client, sockets, received: () => text };
}

const usual: UpstreamRequest = { method: "POST", path: "/x", fields: { "x-one": "1" }, body: Buffer.from("{}") };

/** Sends a request, and resolves when its handler has been called last. */
export function ask(
  client: UpstreamClient,
  onSent: (request: SentRequest) => void = () => {},
  request: Partial<UpstreamRequest> = {},
  onBody: () => void = () => {},
): Promise<Outcome> {
  return new Promise((resolve) => {
    const outcome: Outcome = { body: "", isSent: false };
    const end = (how: Outcome["end"] & {}) => resolve({ ...outcome, end: how });
    const handler: ReplyHandler = {
      isCancelled: false,
      onSent(sent) {
        outcome.isSent = true;
        onSent(sent);
      },
      onHead: (status, fields) => void Object.assign(outcome, { status, fields }),
      onBody(pieces) {
        outcome.body += Buffer.concat(pieces).toString("latin1");
        onBody();
      },
      onEnd: () => end("ended"),
      onError: end,
      onTimeout: end,
    };
    client.send({ ...usual, ...request }, handler);
  });
}

/** Writes text in pieces of a size, each in a packet of its own. */
export async function writePieces(socket: Socket, text: string, size: number): Promise<void> {
  for (let at = 0; at < text.length; at += size) {
    await new Promise((resolve) => socket.write(text.slice(at, at + size), resolve));
    await new Promise(setImmediate);
  }
}
