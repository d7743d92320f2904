/**
 * Tells clients whether the gateway takes calls: `grpc.health.v1.Health` for gRPC clients, and `site/probes.ts` for those of HTTP.
 *
 * The gateway is healthy as long as the process answers. It is ready when its start is complete, and until it drains; after that
 * the process ends. It is not ready while its storage fails writes: calls whose credit is scarce would be refused, and no charge
 * would be written.
 */
import { once } from "node:events";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  Health,
  type HealthCheckResponseSchema,
  HealthCheckResponse_ServingStatus as Status,
} from "../../../gen/grpc/health/v1/health_pb.ts";
import type { OpenService } from "./rpc.ts";

/** WriteHealth reports whether writes to storage succeed. */
export interface WriteHealth {
  /** Returns why writes fail and for how long they have; undefined while they succeed. */
  trouble(): string | undefined;
  /** Calls `listener` whenever writes begin to fail or to succeed again. Returns a function that ends this. */
  onChange(listener: () => void): () => void;
}

/** ReadinessStatus is the body of `/readyz`. */
export type ReadinessStatus =
  | { readonly status: "ok" | "starting" | "draining" }
  | { readonly status: "storage_unavailable"; readonly message: string };

export interface Readiness {
  isReady(): boolean;
  isDraining(): boolean;
  status(): ReadinessStatus;
  /** Calls `listener` whenever readiness may have changed. Returns a function that ends this. */
  onChange(listener: () => void): () => void;
  /** Marks the start as complete. */
  prepared(): void;
  /** Begins draining: no further call should come. It stays ready where another process has taken its place. */
  drain(isReplaced?: boolean): void;
  /** Fires when draining begins. */
  readonly draining: AbortSignal;
}

/** For a gateway without storage. */
const alwaysHealthy: WriteHealth = { trouble: () => undefined, onChange: () => () => {} };

/** `isPreparing`: not ready until `prepared` is called. */
export function createReadiness({ trouble, onChange }: WriteHealth = alwaysHealthy, isPreparing = false): Readiness {
  const draining = new AbortController();
  const { signal } = draining;
  const prepared = new AbortController();
  let hasSuccessor = false;
  if (!isPreparing) prepared.abort();
  const status = (): ReadinessStatus => {
    if (signal.aborted && !hasSuccessor) return { status: "draining" };
    if (!prepared.signal.aborted) return { status: "starting" };
    const message = trouble();
    return message === undefined ? { status: "ok" } : { status: "storage_unavailable", message };
  };
  return {
    isReady: () => status().status === "ok",
    isDraining: () => signal.aborted,
    status,
    onChange(listener) {
      const signals = [signal, prepared.signal];
      for (const one of signals) one.addEventListener("abort", listener, { once: true });
      const forget = onChange(listener);
      return () => {
        for (const one of signals) one.removeEventListener("abort", listener);
        forget();
      };
    },
    prepared: () => prepared.abort(),
    drain(isReplaced = false) {
      hasSuccessor = isReplaced;
      draining.abort();
    },
    draining: signal,
  };
}

type HealthCheckInit = MessageInitShape<typeof HealthCheckResponseSchema>;

/** healthService serves health checks for these services, and for "", the whole gateway. */
export function healthService(readiness: Readiness, serviceNames: readonly string[]): OpenService<typeof Health> {
  const names = ["", ...serviceNames];
  const now = () => ({ status: readiness.isReady() ? Status.SERVING : Status.NOT_SERVING }) satisfies HealthCheckInit;
  return {
    service: Health,
    implementation: {
      check({ service }) {
        if (!names.includes(service)) throw new ConnectError(`no service ${service} here`, Code.NotFound);
        return now();
      },
      list: () => ({ statuses: Object.fromEntries(names.map((name) => [name, now()])) }),
      async *watch({ service }, context) {
        if (!names.includes(service)) {
          yield { status: Status.SERVICE_UNKNOWN };
          return void (await ended(context.signal));
        }
        let sent: Status | undefined;
        for (;;) {
          const { status } = now();
          if (status !== sent) {
            sent = status;
            yield { status };
          } else if (context.signal.aborted) return;
          else await changed(readiness, context.signal);
        }
      },
    },
  };
}

/** changed resolves when readiness may have changed, or the signal has fired. */
function changed(readiness: Readiness, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      forget();
      signal.removeEventListener("abort", end);
      resolve();
    };
    const forget = readiness.onChange(end);
    signal.addEventListener("abort", end, { once: true });
  });
}

async function ended(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, "abort");
}
