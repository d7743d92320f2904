/** Both servers of HTTP/1.1 behind one port, with the same handler: `http1/server` in front of Node's, and Node's alone. */
import { onTestFinished } from "vitest";
import { readBody } from "../../../src/doors/body/body.ts";
import { type Listener, type ListenOptions, listen } from "../../../src/doors/listener/listen.ts";
import type { HttpAnswer, PlainRequest } from "../../../src/http1/server/index.ts";
import { type Client, connectClient } from "../../support/clients/served-port.ts";
import { unboundedBody } from "../../support/unbounded-body.ts";

export interface ServerEngine {
  readonly name: "http1" | "node";
}

export const engines: readonly ServerEngine[] = [{ name: "http1" }, { name: "node" }];

/** A request as the doors get it. */
export type Request = Parameters<typeof readBody>[0];

export type Handle = (request: Request, answer: HttpAnswer) => void;

/** Starts a port, until the test is over. */
export async function startServer(
  { name }: ServerEngine,
  handle: Handle,
  options: Partial<ListenOptions> = {},
): Promise<Listener> {
  const listener = await listen({
    host: "127.0.0.1",
    port: 0,
    handle,
    ...(name === "http1" ? { handlePlain: (request: PlainRequest) => (answer) => handle(request, answer) } : {}),
    rejectionBody: (status) => Buffer.from(`rejected ${status}`),
    ...options,
  });
  onTestFinished(() => listener.close(0));
  return listener;
}

/** Reads the whole body of a request. */
export async function bodyOf(request: Request): Promise<Buffer> {
  return readBody(request, { maxBytes: 100_000_000, timeoutMs: 10_000 }, unboundedBody);
}

/** Answers with the request's method, path and body, and then as the path says. */
export const echo: Handle = (request, answer) => {
  void bodyOf(request).then((body) => {
    const bytes = Buffer.concat([Buffer.from(`${request.method} ${request.url} `), body]);
    answer.writeHead(200, { "content-length": `${bytes.length}` });
    answer.end(bytes);
  });
};

export const connectTo = ({ port }: Listener): Client => connectClient(port);

export const post = (path: string, body = "", more = "") =>
  `POST ${path} HTTP/1.1\r\nhost: h\r\n${more}content-length: ${body.length}\r\n\r\n${body}`;
