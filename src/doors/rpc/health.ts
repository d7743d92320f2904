/**
 * Whether the gateway takes calls: `grpc.health.v1.Health` for gRPC clients, `/healthz` and `/readyz` for probes.
 *
 * Healthy as long as the process answers. Ready once all of its start is done, and until it drains, which is for ever: the
 * process ends after it. And not ready while what it writes does not arrive: calls whose credit is scarce would be refused, and no charge would be written.
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

/** What calls are written to. */
export interface WriteHealth {
  /** Says what keeps writes from arriving, and for how long; undefined while they arrive. */
  trouble(): string | undefined;
  /** Calls this whenever there is trouble, or is none any more. Returns what ends that. */
  onChange(listener: () => void): () => void;
}

/** As `/readyz` tells it. */
export type ReadinessStatus =
  | { readonly status: "ok" | "starting" | "draining" }
  | { readonly status: "storage_unavailable"; readonly message: string };

export interface Readiness {
  isReady(): boolean;
  isDraining(): boolean;
  status(): ReadinessStatus;
  /** Calls this whenever it may have become ready, or no longer be. Returns what ends that. */
  onChange(listener: () => void): () => void;
  /** Says that all of the start is done. */
  prepared(): void;
  /** Says that no further call should come. */
  drain(): void;
  /** Fires when draining begins. */
  readonly draining: AbortSignal;
}

/** For what writes nothing. */
const arrives: WriteHealth = { trouble: () => undefined, onChange: () => () => {} };

/** `isPreparing`: it is not ready until it is told that it is prepared. */
export function createReadiness({ trouble, onChange }: WriteHealth = arrives, isPreparing = false): Readiness {
  const draining = new AbortController();
  const { signal } = draining;
  const prepared = new AbortController();
  if (!isPreparing) prepared.abort();
  const standing = (): ReadinessStatus => {
    if (signal.aborted) return { status: "draining" };
    if (!prepared.signal.aborted) return { status: "starting" };
    const message = trouble();
    return message === undefined ? { status: "ok" } : { status: "storage_unavailable", message };
  };
  return {
    isReady: () => standing().status === "ok",
    isDraining: () => signal.aborted,
    status: standing,
    onChange(listener) {
      const once = [signal, prepared.signal];
      for (const moment of once) moment.addEventListener("abort", listener, { once: true });
      const forget = onChange(listener);
      return () => {
        for (const moment of once) moment.removeEventListener("abort", listener);
        forget();
      };
    },
    prepared: () => prepared.abort(),
    drain: () => draining.abort(),
    draining: signal,
  };
}

type HealthCheckInit = MessageInitShape<typeof HealthCheckResponseSchema>;

/** Answers for these services and for "", the gateway as a whole. */
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
        let told: Status | undefined;
        for (;;) {
          const { status } = now();
          if (status !== told) {
            told = status;
            yield { status };
          } else if (context.signal.aborted) return;
          else await changed(readiness, context.signal);
        }
      },
    },
  };
}

/** Resolves when readiness may have changed, or the signal has fired. */
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
