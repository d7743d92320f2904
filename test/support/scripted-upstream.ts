/**
 * An OpenAI-compatible upstream, on a real socket, whose every byte the test decides.
 *
 * Step by step, where the moment matters:
 *
 *   const upstream = await startScriptedUpstream();
 *   const gateway = await startTestGateway(upstreamAt(upstream.baseUrl));
 *   …start a call…
 *   const exchange = await upstream.next();            // the next request, once its body is there
 *   exchange.head(200, eventStream);
 *   await exchange.write('data: {"choices":[]}\n\n');  // resolves when the socket has taken the bytes
 *   exchange.end();                                    // or destroy(), reset(), or nothing: it hangs
 *
 * Or by a script, which then answers every request: `upstream.script = (exchange) => exchange.json(200, {…})`.
 */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";

export const eventStream = { "content-type": "text/event-stream" };

/** A request that the upstream has received, and the means to answer it. */
export interface ScriptedExchange {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** asked is the body as JSON, for the test to say what it expects of it. */
  // biome-ignore lint/suspicious/noExplicitAny: what a request holds differs from path to path.
  readonly asked: any;
  /** Sends the status line and headers at once. */
  head(status: number, headers?: Readonly<Record<string, string>>): void;
  /** Sends bytes of the body. Resolves with true when the socket has taken them, with false when it is gone. */
  write(piece: string | Uint8Array): Promise<boolean>;
  /** Ends the answer as HTTP has it, after these last bytes. */
  end(piece?: string | Uint8Array): void;
  /** Sends a whole answer. */
  json(status: number, value: unknown, headers?: Readonly<Record<string, string>>): void;
  /** Sends a whole stream: a frame for each value, and [DONE]. */
  stream(...payloads: readonly unknown[]): void;
  /** Closes the connection in the middle of the answer. */
  destroy(): void;
  /** Breaks the connection with a TCP reset. */
  reset(): void;
  /** Resolves, with the time by `performance.now()`, when the connection closes before the answer has ended. */
  readonly left: Promise<number>;
}

export interface ScriptedUpstream {
  /** To be given as `base_url`. */
  readonly baseUrl: string;
  readonly port: number;
  /** Every request received so far, those included that a script has answered. */
  readonly received: ScriptedExchange[];
  /** lastAsked is what the last request asked, as JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: what a request holds differs from path to path.
  readonly lastAsked: any;
  /** Answers every request from now on; while undefined, `next` hands them out. */
  script: ((exchange: ScriptedExchange) => void) | undefined;
  /** Returns the next request that no script answers and nobody has taken. Waits for it. */
  next(): Promise<ScriptedExchange>;
  /** Connections accepted since the start. */
  readonly connections: number;
  readonly openConnections: number;
  /** Requests whose answer has not ended and whose connection is not closed. */
  readonly openRequests: number;
  close(): Promise<void>;
}

export async function startScriptedUpstream(
  script?: ScriptedUpstream["script"],
  atPort = 0,
): Promise<ScriptedUpstream> {
  const sockets = new Set<Socket>();
  const received: ScriptedExchange[] = [];
  const untaken: ScriptedExchange[] = [];
  const waiting: ((exchange: ScriptedExchange) => void)[] = [];
  let answering = script;
  let connections = 0;
  let openRequests = 0;
  const server = createServer({ keepAliveTimeout: 60_000 }, async (req, res) => {
    openRequests++;
    res.once("close", () => openRequests--);
    const body = await bodyOf(req);
    if (!body) return;
    const exchange = exchangeOf(req, res, body);
    received.push(exchange);
    if (answering) answering(exchange);
    else if (waiting.length > 0) waiting.shift()?.(exchange);
    else untaken.push(exchange);
  });
  server.on("connection", (socket: Socket) => {
    connections++;
    sockets.add(socket.setNoDelay());
    socket.once("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(atPort, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    port,
    received,
    get lastAsked() {
      return received.at(-1)?.asked;
    },
    get script() {
      return answering;
    },
    set script(next) {
      answering = next;
    },
    next() {
      const exchange = untaken.shift();
      return exchange ? Promise.resolve(exchange) : new Promise((resolve) => waiting.push(resolve));
    },
    get connections() {
      return connections;
    },
    get openConnections() {
      return sockets.size;
    },
    get openRequests() {
      return openRequests;
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/** Returns undefined where the client leaves before the body is there. */
async function bodyOf(req: IncomingMessage): Promise<Buffer | undefined> {
  try {
    return Buffer.concat(await req.toArray());
  } catch {
    return undefined;
  }
}

function exchangeOf(req: IncomingMessage, res: ServerResponse, body: Buffer): ScriptedExchange {
  const left = new Promise<number>((resolve) => {
    res.once("close", () => {
      if (!res.writableEnded) resolve(performance.now());
    });
  });
  const write = (piece: string | Uint8Array) =>
    new Promise<boolean>((resolve) => {
      // The callback of a write to a destroyed socket may never come.
      const closed = () => resolve(false);
      if (res.destroyed) return closed();
      res.once("close", closed);
      res.write(piece, (error) => {
        res.off("close", closed);
        resolve(!error);
      });
    });
  const head: ScriptedExchange["head"] = (status, headers = {}) => {
    res.writeHead(status, headers);
    res.flushHeaders();
  };
  return {
    method: req.method ?? "",
    path: req.url ?? "",
    headers: req.headers,
    body,
    get asked() {
      return JSON.parse(body.toString());
    },
    head,
    write,
    end: (piece) => void res.end(piece),
    json(status, value, headers) {
      res.writeHead(status, { "content-type": "application/json", ...headers });
      res.end(JSON.stringify(value));
    },
    stream(...payloads) {
      head(200, eventStream);
      res.end(`${payloads.map((payload) => `data: ${JSON.stringify(payload)}\n\n`).join("")}data: [DONE]\n\n`);
    },
    destroy: () => void req.socket.destroy(),
    reset: () => void req.socket.resetAndDestroy(),
    left,
  };
}
