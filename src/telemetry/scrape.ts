/**
 * Serves metrics to Prometheus: `GET /metrics` on a listener of its own. It serves nothing else and needs no
 * credential: the address must be reachable for the operator only.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface ScrapeOptions {
  readonly host: string;
  /** port 0 takes any free port. */
  readonly port: number;
  /** fd is a bound socket that it listens on in the place of that address. */
  readonly fd?: number;
  /** read returns all metrics as text. */
  readonly read: () => Promise<string>;
  readonly contentType: string;
  /** onError gets the cause when metrics cannot be read. */
  readonly onError: (error: unknown) => void;
}

export interface Scrape {
  readonly port: number;
  /** close resolves when the address is free; it cuts open connections. */
  close(): Promise<void>;
}

/** requestMs is how long a request may take to arrive, in milliseconds. */
const requestMs = 10_000;
/** silentMs is how long a connection may carry nothing in either direction, in milliseconds. */
const silentMs = 30_000;
/** maxConnections is more than all who scrape a gateway have. Further ones are closed at once. */
const maxConnections = 100;

/** serveMetrics throws if it cannot listen on the address. */
export async function serveMetrics(options: ScrapeOptions): Promise<Scrape> {
  const bounds = { headersTimeout: requestMs, requestTimeout: requestMs, connectionsCheckingInterval: requestMs / 2 };
  const server = createServer(bounds, (req, res) => {
    void answer(req, res, options);
  });
  // Node's own servers wait for ever for a client that does not read.
  server.setTimeout(silentMs);
  server.maxConnections = maxConnections;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    const { fd, port, host } = options;
    server.listen(fd === undefined ? { port, host } : { fd }, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function answer(req: IncomingMessage, res: ServerResponse, options: ScrapeOptions): Promise<void> {
  const { read, contentType, onError } = options;
  if (req.url?.split("?", 1)[0] !== "/metrics") return write(res, 404, "Metrics are at /metrics.\n");
  if (req.method !== "GET" && req.method !== "HEAD") {
    res.setHeader("allow", "GET, HEAD");
    return write(res, 405, "Use GET.\n");
  }
  try {
    write(res, 200, await read(), contentType);
  } catch (error) {
    onError(error);
    write(res, 500, "The metrics could not be read; the log says why.\n");
  }
}

/** Node omits the body of an answer to HEAD. */
function write(res: ServerResponse, status: number, text: string, contentType = "text/plain; charset=utf-8"): void {
  const body = Buffer.from(text);
  res.writeHead(status, { "content-type": contentType, "content-length": body.length });
  res.end(body);
}
