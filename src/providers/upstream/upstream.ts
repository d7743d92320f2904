/** One upstream over HTTP: GET, and POST with a body that is known in full. */

import { type CreateUpstreamClient, createConnectionPool, type UpstreamRequest } from "../../http1/client/index.ts";
import type { Signal } from "../../runtime/caller-abort.ts";
import { Deferred } from "../../runtime/maybe-promise.ts";
import { Exchange, type ReplyListener } from "./exchange.ts";
import type { UpstreamReply } from "./reply.ts";
import { createBounds, defaultTimeouts, leftOf, type Timeouts, timedOut } from "./timeouts.ts";

export interface Upstream {
  /** Sends a request below the base address. Resolves when the head of the reply has come; rejects with a Refusal. */
  post(request: RelativeRequest, waiting: Waiting): Deferred<UpstreamReply>;
  get(request: RelativeRequest, waiting: Waiting): Deferred<UpstreamReply>;
  close(): Promise<void>;
}

/** A request whose path is relative to the base address. */
type RelativeRequest = Omit<UpstreamRequest, "method">;

/** Waiting is how long a reply is waited for. */
export interface Waiting extends ReplyListener {
  readonly signal: Signal;
  /** Time-outs that apply where they are shorter than the upstream's own. */
  readonly timeouts?: Partial<Timeouts>;
  /** How much of the total bounds is used up, in milliseconds. Default: 0. */
  readonly spentMs?: number | undefined;
}

/** createUpstream creates an upstream. `query` is appended to every path; `createClient` makes the client that sends its requests. */
export function createUpstream(
  baseUrl: string,
  timeouts: Timeouts = defaultTimeouts,
  query: Readonly<Record<string, string>> = {},
  createClient: CreateUpstreamClient = createConnectionPool,
): Upstream {
  const { origin, pathname } = new URL(baseUrl);
  const client = createClient(origin, timeouts);
  const prefix = pathname.replace(/\/$/, "");
  const asked = new URLSearchParams(query).toString();
  const suffix = asked && `?${asked}`;
  const boundsFor = createBounds(timeouts);
  const send = (method: UpstreamRequest["method"], request: RelativeRequest, waiting: Waiting) => {
    const { signal, timeouts: wanted = {}, spentMs = 0, late, broken } = waiting;
    const { path, common, fields, body } = request;
    const bounds = boundsFor(wanted, spentMs);
    const { totalMs } = bounds;
    const reply = new Deferred<UpstreamReply>();
    if (totalMs && leftOf(totalMs) <= 0) {
      reply.reject(timedOut("totalMs", totalMs));
      return reply;
    }
    const exchange = new Exchange(reply, signal, bounds, timeouts, { late, broken });
    try {
      client.send({ method, path: `${prefix}${path}${suffix}`, common, fields, body }, exchange);
    } catch (error) {
      exchange.onError(error as Error);
    }
    return reply;
  };
  return {
    post: (request, waiting) => send("POST", request, waiting),
    get: (request, waiting) => send("GET", request, waiting),
    close: () => client.close(),
  };
}
