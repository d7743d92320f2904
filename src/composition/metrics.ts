/** Puts the metrics together, and has them read at an address of their own. Loaded only where that is wanted. */
import { Registry } from "prom-client";
import type { Config } from "../config/config.ts";
import type { ConnectionCounts } from "../doors/listener/connections.ts";
import { version } from "../package/version.ts";
import type { Observer } from "../pipeline/observe.ts";
import type { Link } from "../runtime/ipc/link.ts";
import type { Catalog } from "../targets/catalog.ts";
import { type GaugeParts, registerGauges, type TargetGauges } from "../telemetry/gauges.ts";
import type { MetricJson } from "../telemetry/merge-metrics.ts";
import { createMetrics } from "../telemetry/metrics.ts";
import { processMetrics } from "../telemetry/process.ts";
import { serveMetrics } from "../telemetry/scrape.ts";
import type { Parts, Shared } from "./parts.ts";
import type { LastMetrics, MetricsQuestions } from "./workers-metrics.ts";

export interface Metrics {
  readonly observer: Observer;
  /** port is undefined where a worker's owner tells them. */
  readonly port: number | undefined;
  close(): Promise<void>;
}

/** Counted is what is counted elsewhere, and read when metrics are. */
export interface Counted {
  readonly open: () => ConnectionCounts;
  /** Returns how many refused calls could not be counted for usage. */
  readonly refusedLost: () => number;
}

/**
 * startMetrics returns undefined where the address is taken and nobody asked for it: then the gateway does without. Throws where somebody
 * did, and says so in the error's `purpose`.
 */
export async function startMetrics(
  parts: Parts,
  shared: Shared,
  of: Counted,
  { host, port, isAsked }: NonNullable<Config["metrics"]>,
): Promise<Metrics | undefined> {
  const { log, worker } = parts;
  const registry = new Registry();
  const observer = createMetrics(registry);
  registerGauges(registry, gaugeParts(parts, shared, of));
  if (worker) return { observer, port: undefined, close: tellOwner(worker.link, registry) };
  const { contentType } = registry;
  const read = async () => `${await registry.metrics()}\n${await processMetrics().metrics()}`;
  const onError = (err: unknown) => log.error({ err }, "metrics could not be read");
  try {
    const scrape = await serveMetrics({ host, port, read, contentType, onError });
    return { observer, port: scrape.port, close: scrape.close };
  } catch (error) {
    if (isAsked) throw Object.assign(error as Error, { purpose: "metrics" });
    const { code } = error as NodeJS.ErrnoException;
    log.warn({ host, port, code }, "metrics cannot be read at this address. METRICS_PORT sets another port, or `off`");
    return undefined;
  }
}

/** tellOwner tells the owner of workers this one's metrics whenever it asks, and at the end. Returns what ends that. */
function tellOwner(link: Link, registry: Registry): () => Promise<void> {
  const read = async () =>
    [...(await registry.getMetricsAsJSON()), ...(await processMetrics().getMetricsAsJSON())] as MetricJson[];
  link.answer<MetricsQuestions>({ "metrics.read": read });
  return async () => link.by<LastMetrics>().tell("metrics.last", await read());
}

function gaugeParts(
  { live, storage }: Parts,
  { catalog, health, queues, targets, drains, background, cache, bodies, limits }: Shared,
  { open, refusedLost }: Counted,
): GaugeParts {
  const names = () => {
    const served = catalog.list().flatMap((model) => model.targets);
    return new Set([...live.current().upstreams.map(({ name }) => name), ...served.map(({ upstream }) => upstream)]);
  };
  return {
    version: version(),
    configurationVersion: () => live.current().version,
    upstreams: () =>
      [...names()].map((name) => ({
        name,
        running: () => health.of(name).running,
        queue: queueOf(name, queues),
        isUp: () => targets.passesChecks(name),
      })),
    targets: () => targetGauges(catalog, targets),
    drains: drains.count,
    background: () => background.count,
    holds: storage.holds.total,
    storage: {
      isWritable: () => storage.writable.trouble() === undefined,
      journalRejects: storage.journalRejects,
    },
    database: storage.database,
    open,
    refusedLost,
    bodyBytes: () => bodies.bytes,
    redis: limits.redis,
    cache,
  };
}

/** An upstream may serve a model under several names. */
function targetGauges(catalog: Catalog, targets: Shared["targets"]): TargetGauges[] {
  return catalog.list().flatMap((model) =>
    [...Map.groupBy(model.targets, ({ upstream }) => upstream)].map(([upstream, named]) => {
      const isResting = () => named.some((target) => targets.restMs(target) > 0);
      return { upstream, model: model.id, isResting };
    }),
  );
}

function queueOf(name: string, { maxConcurrent, queued }: Shared["queues"]) {
  const places = maxConcurrent(name);
  return places === undefined ? undefined : { places, queued: () => queued(name) };
}
