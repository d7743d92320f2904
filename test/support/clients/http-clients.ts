/** Both clients of an upstream behind their contract, asked in the same way with the same settings. */
import {
  type CreateUpstreamClient,
  createConnectionPool,
  type PhaseTimeouts,
  type ReplyHandler,
} from "../../../src/http1/client/index.ts";
import { createUndiciClient } from "../../../src/providers/upstream/undici.ts";

export interface ClientRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Buffer | undefined;
}

/** Outcome is what became of a request. */
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

/** CreateClient is how both are made: for a server, with a bound for each phase of an exchange. */
export type CreateClient = (origin: string, timeouts: PhaseTimeouts) => HttpClient;

const clientOver =
  (name: HttpClient["name"], create: CreateUpstreamClient): CreateClient =>
  (origin, timeouts) => {
    const client = create(origin, timeouts);
    return {
      name,
      close: () => client.close(),
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
          client.send({ method: body ? "POST" : "GET", path, fields: headers, body }, replies);
        }),
    };
  };

export const ownClient = clientOver("own", createConnectionPool);
export const undiciClient = clientOver("undici", createUndiciClient);
