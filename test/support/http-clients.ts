/** The gateway's own HTTP/1.1 client and undici's, asked in the same way with the same settings. */
import { Agent, type Dispatcher } from "undici";
import { createConnectionPool, type ReplyHandler } from "../../src/http1/client/index.ts";

export interface ClientRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Buffer | undefined;
}

/** What became of a request. */
export interface Outcome {
  /** Undefined where no head came. */
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** One byte a character. */
  readonly body: string;
  readonly end: "ended" | "failed" | "late";
  readonly error?: Error;
}

export interface HttpClient {
  readonly name: "own" | "undici";
  call(request: ClientRequest): Promise<Outcome>;
  close(): Promise<void>;
}

/** How both are made: for a server, with a bound for each part of an exchange in milliseconds. */
export type CreateClient = (origin: string, partMs: number) => HttpClient;

export const ownClient: CreateClient = (origin, partMs) => {
  const pool = createConnectionPool(origin, { connectMs: partMs, firstByteMs: partMs, idleMs: partMs });
  return {
    name: "own",
    close: () => pool.close(),
    call: ({ path, headers, body }) =>
      new Promise((resolve) => {
        let head: Pick<Outcome, "status" | "headers"> = { status: undefined, headers: {} };
        let text = "";
        const over = (end: Outcome["end"], error?: Error) =>
          resolve({ ...head, body: text, end, ...(error ? { error } : {}) });
        const replies: ReplyHandler = {
          isCancelled: false,
          onSent: () => {},
          onHead(status, fields) {
            head = { status, headers: { ...fields } };
          },
          onBody(pieces) {
            for (const piece of pieces) text += piece.toString("latin1");
          },
          onEnd: () => over("ended"),
          onError: (error) => over("failed", error),
          onTimeout: () => over("late"),
        };
        pool.send({ method: body ? "POST" : "GET", path, fields: headers, body }, replies);
      }),
  };
};

const lateCodes: ReadonlySet<unknown> = new Set(["UND_ERR_HEADERS_TIMEOUT", "UND_ERR_BODY_TIMEOUT"]);

export const undiciClient: CreateClient = (origin, partMs) => {
  const agent = new Agent({ pipelining: 1, headersTimeout: partMs, bodyTimeout: partMs, connect: { timeout: partMs } });
  return {
    name: "undici",
    close: () => agent.destroy(),
    async call({ path, headers, body }) {
      let head: Pick<Outcome, "status" | "headers"> = { status: undefined, headers: {} };
      let text = "";
      try {
        const method: Dispatcher.HttpMethod = body ? "POST" : "GET";
        const reply = await agent.request({ origin, path, method, headers, body: body ?? null });
        head = { status: reply.statusCode, headers: reply.headers };
        for await (const piece of reply.body) text += (piece as Buffer).toString("latin1");
        return { ...head, body: text, end: "ended" };
      } catch (error) {
        const end = lateCodes.has((error as { code?: unknown }).code) ? "late" : "failed";
        return { ...head, body: text, end, error: error as Error };
      }
    },
  };
};
