/** Puts together those who tell of calls: the log, the metrics, the traces. */
import { setImmediate } from "node:timers/promises";
import type { Config } from "../config/config.ts";
import type { ConnectionCounts } from "../doors/listener/connections.ts";
import { version } from "../package/version.ts";
import type { Observer } from "../pipeline/observe.ts";
import { createRefusedCalls } from "../pipeline/refused/refused-calls.ts";
import { newId } from "../runtime/ids.ts";
import type { Catalog, Model } from "../targets/catalog.ts";
import { createCallLog } from "../telemetry/log.ts";
import type { Parts, Shared } from "./parts.ts";
import { logFailures } from "./trouble-log.ts";

export interface Seeing {
  readonly observers: readonly Observer[];
  /** metricsPort is where metrics are read; undefined where they are not. */
  readonly metricsPort: number | undefined;
  /** Returns how many calls have ended so far. */
  ended(): number;
  /** Sends on what is still to be sent, and stops. */
  close(): Promise<void>;
}

/** createSeeing creates the observers that the configuration asks for. `open` tells which connections are open. */
export async function createSeeing(parts: Parts, shared: Shared, open: () => ConnectionCounts): Promise<Seeing> {
  const { config, log } = parts;
  const refused = recordRefused(parts, shared);
  const of = { open, refusedLost: refused.lost };
  const metrics =
    config.metrics && (await (await import("./metrics.ts")).startMetrics(parts, shared, of, config.metrics));
  const otlp = config.telemetry && (await startTelemetry(parts, config.telemetry));
  let count = 0;
  const counting: Observer = { ended: () => void count++ };
  return {
    ended: () => count,
    observers: [
      ...[counting, createCallLog(log), refused.observer],
      ...(metrics ? [metrics.observer] : []),
      ...(otlp?.observers ?? []),
    ],
    metricsPort: metrics?.port,
    async close() {
      // The call that ended last may not be told of yet: that is done behind its answer, in this turn of the event loop.
      await setImmediate();
      await refused.close();
      await Promise.all([metrics?.close(), otlp?.close()]);
    },
  };
}

function recordRefused({ storage, log, clock }: Parts, { catalog }: Shared) {
  return createRefusedCalls({
    write: (batch) => storage.refused.write(batch),
    node: newId("nod", clock()),
    modelId: createModelIds(catalog),
    clock,
    onError: logFailures(log, "refused calls could not be written; it is tried again"),
  });
}

/** createModelIds returns what finds a model's id by any of its names, and throws for none. */
function createModelIds(catalog: Catalog): (name: string) => string | undefined {
  let listed: readonly Model[] | undefined;
  let ids = new Map<string, string>();
  return (name) => {
    const current = catalog.list();
    if (current !== listed) {
      listed = current;
      ids = new Map(current.flatMap(({ id, aliases }) => [id, ...aliases].map((one) => [one, id] as const)));
    }
    return ids.get(name);
  };
}

/** Traces, and metrics that are sent. The SDK is loaded only here. */
async function startTelemetry({ live, log, clock }: Parts, telemetry: NonNullable<Config["telemetry"]>) {
  const { startOtlp } = await import("../telemetry/otlp.ts");
  return startOtlp({ ...telemetry, version: version(), upstreams: () => live.current().upstreams, log, clock });
}
