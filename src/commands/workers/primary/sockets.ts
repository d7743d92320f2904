/**
 * Binds the sockets that workers listen on. The primary keeps them, so that what waits in their queues outlives every worker: the next one
 * accepts it.
 *
 * Each worker has a socket of its own where the system divides the connections of a port among several (SO_REUSEPORT). Elsewhere all
 * workers listen on one socket.
 */
import { lookup } from "node:dns/promises";
import net, { type BoundSocket } from "node:net";
import type { Logger } from "pino";
import type { Config } from "../../../config/config.ts";
import { StartError } from "../../line/errors.ts";
import { explainListening } from "../../serving/listening.ts";

export interface Sockets {
  readonly port: number;
  /** The port for metrics; undefined where nobody reads them. */
  readonly metricsPort: number | undefined;
  /** The descriptor of its socket; -1 for none. */
  readonly metricsFd: number;
  /** The descriptors of the sockets for calls. */
  fds(): readonly number[];
  /** Binds more, where there are fewer than workers and the system divides among them. */
  growTo(workers: number): void;
}

/** bindSockets throws a StartError. */
export async function bindSockets(
  config: Pick<Config, "host" | "port" | "metrics">,
  workers: number,
  log: Pick<Logger, "warn">,
): Promise<Sockets> {
  if (!("BoundSocket" in net) || process.platform === "win32") throw new StartError(unsupported);
  return explainListening(config, async () => {
    const { address: host } = await lookup(config.host);
    const first = bindFirst(host, config.port);
    const { port } = first.socket.address();
    const bound = [first.socket];
    const growTo = (count: number) => {
      while (first.divides && bound.length < count) bound.push(bind({ host, port, reusePort: true }));
    };
    growTo(workers);
    const metrics = config.metrics && (await bindMetrics(config.metrics, log));
    return {
      port,
      metricsPort: metrics?.address().port,
      metricsFd: metrics?.fd() ?? -1,
      fds: () => bound.map((socket) => socket.fd()),
      growTo,
    };
  });
}

/** bindMetrics returns undefined where the address is taken and nobody asked for it: then the gateway does without. */
async function bindMetrics({ host, port, isAsked }: NonNullable<Config["metrics"]>, log: Pick<Logger, "warn">) {
  try {
    const { address } = await lookup(host);
    return bind({ host: address, port, reusePort: false });
  } catch (error) {
    if (isAsked) throw Object.assign(error as Error, { purpose: "metrics" });
    log.warn({ host, port, code: (error as NodeJS.ErrnoException).code }, noMetrics);
    return undefined;
  }
}

const noMetrics = "metrics cannot be read at this address. METRICS_PORT sets another port, or `off`";
const unsupported =
  "workers need Node 26.4 or newer, on a system other than Windows. Leave `workers` and `--workers` out: one process serves then";

/** Binds a socket, one of several where the system knows that. */
function bindFirst(host: string, port: number): { readonly socket: BoundSocket; readonly divides: boolean } {
  try {
    return { socket: bind({ host, port, reusePort: true }), divides: true };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOTSUP") throw error;
    return { socket: bind({ host, port, reusePort: false }), divides: false };
  }
}

/** Binds a socket. What fails here is told as a failure to listen, which it is to whoever reads it. */
function bind(at: { readonly host: string; readonly port: number; readonly reusePort: boolean }): BoundSocket {
  try {
    return new net.BoundSocket(at);
  } catch (error) {
    throw Object.assign(error as Error, { syscall: "listen" });
  }
}
