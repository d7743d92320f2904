/**
 * Registers gauges that are read when metrics are collected: upstreams and their queues, holds, the cache. Nothing is
 * updated in between, so that they cost nothing.
 */
import { Gauge, type Registry } from "prom-client";
import { troubleOf } from "../runtime/write-trouble.ts";
import { type DatabaseGauges, registerDatabase } from "./gauges/database.ts";
import { type RedisGauges, registerRedis } from "./gauges/redis.ts";
import { registerCounter, registerGauge } from "./gauges/register.ts";
import type { Aggregator } from "./merge-metrics.ts";
import { units } from "./quantities.ts";

export interface GaugeParts {
  readonly version: string;
  /** configurationVersion returns the version of the stored configuration that is in force; 0: nothing is stored. */
  readonly configurationVersion: () => number;
  /** upstreams returns those that are served now. */
  readonly upstreams: () => readonly UpstreamGauges[];
  /** targets returns those of the models that are served now. */
  readonly targets: () => readonly TargetGauges[];
  /** drains returns the number of streams that are read on after their callers have disconnected. */
  readonly drains?: () => number;
  /** background returns the number of running background responses. */
  readonly background?: () => number;
  /** holds resolves to the number of holds, and their sum in millionths of the unit. */
  readonly holds: () => Promise<{ readonly count: number; readonly amount: number }>;
  /** open returns the open connections and streams, and the number that were cut. */
  readonly open: () => OpenConnections;
  /** refusedLost returns how many refused calls could not be counted for usage. */
  readonly refusedLost?: () => number;
  /** bodyBytes returns the memory of request bodies, in bytes. */
  readonly bodyBytes: () => number;
  readonly storage: StorageGauges;
  /** database is undefined without Postgres. */
  readonly database?: DatabaseGauges | undefined;
  /** redis is undefined without Redis. */
  readonly redis?: RedisGauges | undefined;
  /** cache returns undefined where no answers are kept. */
  readonly cache?: () => { entries(): number; bytes(): number } | undefined;
}

export interface OpenConnections {
  readonly undecided: number;
  readonly websocket: number;
  readonly http1: number;
  readonly http2: number;
  readonly streams: number;
  readonly stalled: number;
  readonly shed: number;
  readonly floods: number;
}

export interface StorageGauges {
  /** isWritable returns whether writes succeed now. */
  readonly isWritable: () => boolean;
  /** journalRejects returns how many lines and parts of journals are set aside for an operator. */
  readonly journalRejects: () => number;
}

/** UpstreamGauges return the current values of an upstream. */
export interface UpstreamGauges {
  readonly name: string;
  readonly running: () => number;
  /** queue is the limit of concurrent calls and the number of queued ones; undefined: no limit. */
  readonly queue: { readonly places: number; readonly queued: () => number } | undefined;
  /** isUp returns whether its health checks pass; undefined without them, or before the first. */
  readonly isUp: () => boolean | undefined;
}

export interface TargetGauges {
  readonly upstream: string;
  /** model is the model's id in the catalogue. */
  readonly model: string;
  readonly isResting: () => boolean;
}

export function registerGauges(registry: Registry, parts: GaugeParts): void {
  const { drains = () => 0, background = () => 0, holds, cache = () => undefined } = parts;
  registerVersions(registry, parts);
  registerUpstreams(registry, parts);
  registerGauge(
    registry,
    {
      name: "model_gateway_draining_streams",
      help: "Streams that are read on for their usage after their callers disconnected.",
    },
    (set) => set(drains()),
  );
  registerGauge(
    registry,
    { name: "model_gateway_background_responses", help: "Running background responses." },
    (set) => set(background()),
  );
  registerHolds(registry, holds);
  registerCounter(
    registry,
    "model_gateway_refused_lost_total",
    "Refused calls that usage does not count, because they came faster than storage could write them.",
    parts.refusedLost ?? (() => 0),
  );
  registerConnections(registry, parts);
  registerStorage(registry, parts.storage);
  if (parts.database) registerDatabase(registry, parts.database);
  if (parts.redis) registerRedis(registry, parts.redis);
  registerGauge(registry, { name: "model_gateway_cache_entries", help: "Answers in the cache." }, (set) =>
    set(cache()?.entries() ?? 0),
  );
  registerGauge(
    registry,
    { name: "model_gateway_cache_bytes", help: "Memory of the answers in the cache, in bytes." },
    (set) => set(cache()?.bytes() ?? 0),
  );
}

function registerVersions(registry: Registry, { version, configurationVersion }: GaugeParts): void {
  registerGauge(
    registry,
    {
      name: "model_gateway_build_info",
      help: "The versions of the gateway and of Node.",
      labelNames: ["version", "node"],
      aggregator: "max",
    },
    (set) => set(1, { version, node: process.versions.node }),
  );
  registerGauge(
    registry,
    {
      name: "model_gateway_configuration_version",
      help: "The version of the stored configuration that is in force, the lowest of all workers; 0: nothing is stored.",
      aggregator: "min",
    },
    (set) => set(configurationVersion()),
  );
}

function registerUpstreams(registry: Registry, { upstreams, targets }: GaugeParts): void {
  const perUpstream = (
    name: string,
    help: string,
    read: (upstream: UpstreamGauges) => number | undefined,
    aggregator: Aggregator = "sum",
  ) =>
    registerGauge(registry, { name, help, labelNames: ["upstream"], aggregator }, (set) => {
      for (const upstream of upstreams()) set(read(upstream), { upstream: upstream.name });
    });
  perUpstream("model_gateway_upstream_running", "Running attempts at an upstream.", (it) => it.running());
  perUpstream("model_gateway_upstream_queued", "Calls queued for an upstream; absent without a queue.", ({ queue }) =>
    queue?.queued(),
  );
  perUpstream(
    "model_gateway_upstream_places",
    "The limit of concurrent calls at an upstream; absent without a queue.",
    ({ queue }) => queue?.places,
    "max",
  );
  perUpstream(
    "model_gateway_upstream_up",
    "Whether an upstream's health checks pass; absent without health checks.",
    (it) => bit(it.isUp()),
    "min",
  );
  registerGauge(
    registry,
    {
      name: "model_gateway_target_resting",
      help: "Whether the breaker of a model at an upstream is open because it kept failing.",
      labelNames: ["upstream", "model"],
      aggregator: "max",
    },
    (set) => {
      for (const { upstream, model, isResting } of targets()) set(bit(isResting()), { upstream, model });
    },
  );
}

function registerConnections(registry: Registry, { open, bodyBytes }: GaugeParts): void {
  registerGauge(
    registry,
    {
      name: "model_gateway_connections",
      help: "Open client connections, by protocol; undecided: the first bytes have not arrived.",
      labelNames: ["protocol"],
    },
    (set) => {
      const counts = open();
      for (const protocol of ["undecided", "http1", "http2", "websocket"] as const) set(counts[protocol], { protocol });
    },
  );
  registerGauge(registry, { name: "model_gateway_http2_streams", help: "Open HTTP/2 streams." }, (set) =>
    set(open().streams),
  );
  registerGauge(
    registry,
    { name: "model_gateway_body_bytes", help: "Memory of request bodies and long answers, in bytes." },
    (set) => set(bodyBytes()),
  );
  registerCounter(
    registry,
    "model_gateway_stalled_readers_total",
    "Connections closed because the client no longer read its answer.",
    () => open().stalled,
  );
  registerCounter(
    registry,
    "model_gateway_connections_shed_total",
    "Connections closed because of the limit of connections, idle ones first.",
    () => open().shed,
  );
  registerCounter(
    registry,
    "model_gateway_http2_floods_total",
    "HTTP/2 sessions closed because they sent too many useless frames.",
    () => open().floods,
  );
}

function registerStorage(registry: Registry, { isWritable, journalRejects }: StorageGauges): void {
  registerGauge(
    registry,
    {
      name: "model_gateway_storage_writable",
      help: "Whether writes to the database and the journal succeed.",
      aggregator: "min",
    },
    (set) => set(bit(isWritable())),
  );
  registerGauge(
    registry,
    {
      name: "model_gateway_journal_rejects",
      help: "Journal lines that are no records, and journals that are lost or cut, set aside until an operator removes them.",
      aggregator: "max",
    },
    (set) => set(journalRejects()),
  );
}

/**
 * registerHolds reads both gauges with one query: the registry collects all metrics at once. While storage cannot be read, both are
 * absent, and all other metrics can still be read.
 */
function registerHolds(registry: Registry, holds: GaugeParts["holds"]): void {
  let reading: Promise<Awaited<ReturnType<typeof holds>> | undefined> | undefined;
  const read = () => {
    reading ??= holds()
      .catch(noneIfTrouble)
      .finally(() => (reading = undefined));
    return reading;
  };
  const gauge = (name: string, help: string, of: (total: Awaited<ReturnType<typeof holds>>) => number) => {
    const made = new Gauge({
      name,
      help,
      // Workers read the same rows.
      aggregator: "max",
      registers: [registry],
      async collect() {
        const total = await read();
        if (total) made.set(of(total));
        else made.remove();
      },
    });
  };
  const whose = "of all processes on this database";
  gauge("model_gateway_holds", `Running calls with a hold, ${whose}.`, ({ count }) => count);
  gauge("model_gateway_held_units", `Sum of the holds of running calls, in units, ${whose}.`, ({ amount }) =>
    units(amount),
  );
}

function noneIfTrouble(error: unknown): undefined {
  if (!troubleOf(error)) throw error;
}

function bit(is: boolean | undefined): number | undefined {
  return is === undefined ? undefined : Number(is);
}
