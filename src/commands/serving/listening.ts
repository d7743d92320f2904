/** Returns the address for clients on this machine, and explains why a gateway cannot listen. */
import { createServer } from "node:net";
import type { Config } from "../../config/config.ts";
import { StartError } from "../line/errors.ts";

type Listening = Pick<Config, "host" | "port" | "metrics">;

/** rootUrl returns the base URL of a listener. One that listens on all addresses is reached by that of this machine. */
export function rootUrl({ host, port }: Pick<Listening, "host" | "port">): string {
  const own = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
  return `http://${own.includes(":") ? `[${own}]` : own}:${port}`;
}

/**
 * refuseTakenPorts listens for a moment, before anything else is done: a start beside another gateway must change nothing, least of
 * all the tables of its database. Throws a StartError.
 */
export async function refuseTakenPorts(config: Listening): Promise<void> {
  const { host, port, metrics } = config;
  await explainListening(config, async () => {
    await tryListening({ host, port });
    if (metrics?.isAsked) await tryListening(metrics).catch((error) => Promise.reject(asOfMetrics(error)));
  });
}

function asOfMetrics(error: unknown): unknown {
  return Object.assign(error as Error, { purpose: "metrics" });
}

function tryListening({ host, port }: { readonly host: string; readonly port: number }): Promise<void> {
  const server = createServer();
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port }, () => server.close(() => resolve()));
  });
}

/** explainListening runs what listens. Its errors become a StartError that says what to do. */
export async function explainListening<T>(config: Listening, listen: () => Promise<T>): Promise<T> {
  try {
    return await listen();
  } catch (error) {
    const { code, syscall, purpose } = error as NodeJS.ErrnoException & { readonly purpose?: "metrics" };
    if (!code || (syscall !== "listen" && syscall !== "getaddrinfo")) throw error;
    const at = purpose && config.metrics ? { ...config.metrics, ...metricsListener } : { ...config, ...publicListener };
    const why = reasons(at).get(code) ?? code;
    throw new StartError(`cannot listen on ${at.host}, port ${at.port}${at.what}: ${why}`, { cause: error });
  }
}

/** publicListener names the settings of a listener in error messages. */
const publicListener = { what: "", hostName: "HOST", portName: "PORT" };
const metricsListener = { what: " for metrics", hostName: "METRICS_HOST", portName: "METRICS_PORT" };

/** reasons explains the errors of listening and what to do about them. */
function reasons({ hostName, portName }: typeof publicListener): ReadonlyMap<string, string> {
  return new Map(
    Object.entries({
      EADDRINUSE: `the port is taken. Stop what uses it, or set ${portName} to another`,
      EACCES: `ports below 1024 are not for everyone. Set ${portName} to a higher one`,
      EADDRNOTAVAIL: `this machine does not have that address. Set ${hostName} to one that it has, or to 0.0.0.0 for all`,
      ENOTFOUND: `there is no such host. Set ${hostName} to an address of this machine`,
      EAI_AGAIN: `the name cannot be looked up. Set ${hostName} to an address of this machine`,
    }),
  );
}
