/** One upstream over HTTP: its connections, POST with a body known in full, and GET. */
import { type Asking, createConnectionPool } from "../http1/pool.ts";
import type { Signal } from "../signal.ts";
import { Exchange, type UpstreamReply } from "./exchange.ts";
import { createBounds, defaultTimeouts, type Timeouts, timedOut } from "./timeouts.ts";

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
  const pool = createConnectionPool(origin, timeouts);
  const prefix = pathname.replace(/\/$/, "");
  const boundsFor = createBounds(timeouts);
  const send = (asking: Asking, { signal, timeouts: wanted = {} }: Waiting) => {
    const bounds = boundsFor(wanted);
    const { totalMs } = bounds;
    if (totalMs && totalMs.ms <= 0) return Promise.reject(timedOut("totalMs", totalMs));
    return new Promise<UpstreamReply>((resolve, reject) => {
      const exchange = new Exchange({ resolve, reject }, signal, bounds, timeouts);
      try {
        pool.send(asking, exchange);
      } catch (error) {
        exchange.failed(error as Error);
      }
    });
  };
  return {
    post: (path, fields, body, waiting) => send({ method: "POST", path: `${prefix}${path}`, fields, body }, waiting),
    get: (path, fields, waiting) => send({ method: "GET", path: `${prefix}${path}`, fields }, waiting),
    close: () => pool.close(),
  };
}
