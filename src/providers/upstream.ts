/** One upstream over HTTP: a pool of connections, POST with a body known in full, and GET. */
import { type Dispatcher, Pool } from "undici";
import type { Signal } from "../signal.ts";
import { Exchange, type UpstreamReply } from "./exchange.ts";
import { coarsely, createBounds, defaultTimeouts, type Timeouts, timedOut } from "./timeouts.ts";

export interface Upstream {
  /** Sends a request below the base address. Resolves with the head. Throws a Refusal. */
  post(path: string, headers: Record<string, string>, body: Buffer, waiting: Waiting): Promise<UpstreamReply>;
  get(path: string, headers: Record<string, string>, waiting: Waiting): Promise<UpstreamReply>;
  close(): Promise<void>;
}

/** For how long the answer is waited for. */
export interface Waiting {
  readonly signal: Signal;
  /** Bounds that hold where they are shorter than the upstream's own. */
  readonly timeouts?: Partial<Timeouts>;
}

export function createUpstream(baseUrl: string, timeouts: Timeouts = defaultTimeouts): Upstream {
  const { origin, pathname } = new URL(baseUrl);
  const pool = new Pool(origin, {
    connectTimeout: coarsely(timeouts.connectMs),
    headersTimeout: coarsely(timeouts.firstByteMs),
    bodyTimeout: coarsely(timeouts.idleMs),
  });
  const prefix = pathname.replace(/\/$/, "");
  const boundsFor = createBounds(timeouts);
  const send = (request: Dispatcher.DispatchOptions, { signal, timeouts: wanted = {} }: Waiting) => {
    const bounds = boundsFor(wanted);
    const { totalMs } = bounds;
    if (totalMs && totalMs.ms <= 0) return Promise.reject(timedOut("totalMs", totalMs));
    const { promise, resolve, reject } = Promise.withResolvers<UpstreamReply>();
    const exchange = new Exchange({ resolve, reject }, signal, bounds, timeouts);
    // It answers false where the request waits for a connection that others wait for, too.
    if (!pool.dispatch(request, exchange)) exchange.waitForConnection();
    return promise;
  };
  return {
    post: (path, headers, body, waiting) => send({ method: "POST", path: `${prefix}${path}`, headers, body }, waiting),
    get: (path, headers, waiting) => send({ method: "GET", path: `${prefix}${path}`, headers }, waiting),
    close: () => pool.close(),
  };
}
