/**
 * The bare proxy, in the fastest form that Node has without hand-written HTTP: node:http in front, undici's `dispatch`
 * behind, and a handler that writes to the answer. `node bare.ts PORT:UPSTREAM_PORT…`.
 *
 * Requests are collected before they are sent; whole answers are one write, and a stream's chunks are passed on as
 * they arrive. When a client disconnects, the upstream's call is aborted, even before it has begun.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { setFlagsFromString } from "node:v8";
import { type Dispatcher, Pool } from "undici";

// As in the gateway: large bodies cost less.
setFlagsFromString("--external-memory-accounted-in-global-limit");
for (const pair of process.argv.slice(2)) {
  const [port, upstream] = pair.split(":").map(Number);
  const pool = new Pool(`http://127.0.0.1:${upstream}`);
  const server = createServer({ keepAliveTimeout: 60_000 }, (req, res) => collect(req, res, pool));
  server.listen(port, "127.0.0.1", 16_384);
}

function collect(req: IncomingMessage, res: ServerResponse, pool: Pool): void {
  const chunks: Buffer[] = [];
  req.on("data", (chunk: Buffer) => chunks.push(chunk));
  req.on("end", () => {
    const body = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
    const { "content-type": type = "application/json", authorization = "" } = req.headers;
    const headers = { "content-type": type, authorization };
    pool.dispatch({ method: "POST", path: req.url as string, headers, body }, new Relay(res));
  });
}

class Relay implements Dispatcher.DispatchHandler {
  readonly #res: ServerResponse;
  #controller: Dispatcher.DispatchController | undefined;
  #whole: Buffer[] | undefined;
  #done = false;

  constructor(res: ServerResponse) {
    this.#res = res;
    res.on("close", () => {
      if (!this.#done) this.#controller?.abort(new Error("the client has left"));
    });
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#res.destroyed) controller.abort(new Error("the client has left"));
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: Record<string, unknown>): void {
    const type = headers["content-type"] as string;
    const length = headers["content-length"] as string | undefined;
    this.#res.writeHead(status, length ? ["content-type", type, "content-length", length] : ["content-type", type]);
    if (length) this.#whole = [];
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#whole) this.#whole.push(chunk);
    else if (!this.#res.write(chunk)) {
      controller.pause();
      this.#res.once("drain", () => controller.resume());
    }
  }

  onResponseEnd(): void {
    this.#done = true;
    const whole = this.#whole;
    if (!whole) this.#res.end();
    else this.#res.end(whole.length === 1 ? whole[0] : Buffer.concat(whole));
  }

  onResponseError(): void {
    this.#done = true;
    if (this.#res.headersSent) this.#res.destroy();
    else this.#res.writeHead(502).end();
  }
}
