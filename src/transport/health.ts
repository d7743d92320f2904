/**
 * Whether the gateway takes calls: `grpc.health.v1.Health` for gRPC clients, `/healthz` and `/readyz` for probes.
 *
 * Healthy as long as the process answers; ready until it drains. Draining is for ever: the process ends after it.
 */
import { once } from "node:events";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  Health,
  type HealthCheckResponseSchema,
  HealthCheckResponse_ServingStatus as Status,
} from "../../gen/grpc/health/v1/health_pb.ts";
import type { OpenService } from "./rpc.ts";

export interface Readiness {
  isReady(): boolean;
  /** Says that no further call should come. */
  drain(): void;
  /** Fires when draining begins. */
  readonly draining: AbortSignal;
}

export function createReadiness(): Readiness {
  const draining = new AbortController();
  return {
    isReady: () => !draining.signal.aborted,
    drain: () => draining.abort(),
    draining: draining.signal,
  };
}

/** Answers for these services and for "", the gateway as a whole. */
export function healthService(readiness: Readiness, serviceNames: readonly string[]): OpenService<typeof Health> {
  const names = ["", ...serviceNames];
  const now = (): MessageInitShape<typeof HealthCheckResponseSchema> => ({
    status: readiness.isReady() ? Status.SERVING : Status.NOT_SERVING,
  });
  return {
    service: Health,
    implementation: {
      check({ service }) {
        if (!names.includes(service)) throw new ConnectError(`no service ${service} here`, Code.NotFound);
        return now();
      },
      list: () => ({ statuses: Object.fromEntries(names.map((name) => [name, now()])) }),
      async *watch({ service }, context) {
        if (!names.includes(service)) yield { status: Status.SERVICE_UNKNOWN };
        else {
          yield now();
          if (readiness.isReady()) {
            await either(readiness.draining, context.signal);
            yield now();
          }
        }
        await either(context.signal);
      },
    },
  };
}

/** Resolves when one of the signals has fired. */
async function either(...signals: readonly AbortSignal[]): Promise<void> {
  const any = AbortSignal.any([...signals]); // Held weakly by its sources: nothing is left behind on `draining`.
  if (!any.aborted) await once(any, "abort");
}
