/**
 * What stands at the moment at which somebody asks: how upstreams and their queues are, what is reserved, what the cache
 * holds. Nothing is kept up in between, so that it costs nothing.
 */
import { Counter, Gauge, type Registry } from "prom-client";
import { units } from "./quantities.ts";

export interface GaugeParts {
  readonly version: string;
  readonly upstreams: readonly UpstreamGauges[];
  /** Those of the models that are served at this moment. */
  readonly targets: () => readonly TargetGauges[];
  /** How many streams are read on after their callers have left. */
  readonly drains?: () => number;
  /** How many responses are made in the background. */
  readonly background?: () => number;
  /** How many reservations there are, and what they come to in millionths of the unit. */
  readonly holds: () => { readonly count: number; readonly amount: number };
  /** What is open on the port, and what was cut there so far. */
  readonly open: () => OpenConnections;
  /** How many bytes of requests' bodies are held. */
  readonly bodyBytes: () => number;
  readonly storage: StorageGauges;
  /** Undefined where nothing is cached. */
  readonly cache?: { entries(): number; bytes(): number } | undefined;
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
  /** Whether what is written arrives at this moment. */
  readonly isWritable: () => boolean;
  /** How many lines of notes had another shape, and were set aside so far. */
  readonly rejectedLines: () => number;
}

/** Each tells of this moment. */
export interface UpstreamGauges {
  readonly name: string;
  readonly running: () => number;
  /** How many calls it may have at a time, and how many wait for a place; undefined where nobody has to. */
  readonly queue: { readonly places: number; readonly queued: () => number } | undefined;
  /** Whether its health checks pass; undefined where it is not checked, or was not yet. */
  readonly isUp: () => boolean | undefined;
}

export interface TargetGauges {
  readonly upstream: string;
  /** The catalogue's id of the model. */
  readonly model: string;
  readonly isResting: () => boolean;
}

export function registerGauges(registry: Registry, parts: GaugeParts): void {
  const { version, drains = () => 0, background = () => 0, holds, cache } = parts;
  registerGauge(
    registry,
    {
      name: "model_gateway_build_info",
      help: "The gateway's version, and its Node's.",
      labelNames: ["version", "node"],
    },
    (set) => set(1, { version, node: process.versions.node }),
  );
  registerUpstreams(registry, parts);
  registerGauge(
    registry,
    {
      name: "model_gateway_draining_streams",
      help: "Streams whose callers have left, and that are read on to their usage.",
    },
    (set) => set(drains()),
  );
  registerGauge(
    registry,
    { name: "model_gateway_background_responses", help: "Responses that are made in the background." },
    (set) => set(background()),
  );
  registerHolds(registry, holds);
  registerConnections(registry, parts);
  registerStorage(registry, parts.storage);
  if (!cache) return;
  const { entries, bytes } = cache;
  registerGauge(registry, { name: "model_gateway_cache_entries", help: "Answers in the cache." }, (set) =>
    set(entries()),
  );
  registerGauge(registry, { name: "model_gateway_cache_bytes", help: "Bytes of the answers in the cache." }, (set) =>
    set(bytes()),
  );
}

function registerUpstreams(registry: Registry, { upstreams, targets }: GaugeParts): void {
  const perUpstream = (name: string, help: string, read: (upstream: UpstreamGauges) => number | undefined) =>
    registerGauge(registry, { name, help, labelNames: ["upstream"] }, (set) => {
      for (const upstream of upstreams) set(read(upstream), { upstream: upstream.name });
    });
  perUpstream("model_gateway_upstream_running", "Requests that are under way at an upstream.", (it) => it.running());
  perUpstream(
    "model_gateway_upstream_queued",
    "Calls that wait for a place at an upstream; absent where it has no queue.",
    ({ queue }) => queue?.queued(),
  );
  perUpstream(
    "model_gateway_upstream_places",
    "How many calls an upstream may have at a time; absent where it has no queue.",
    ({ queue }) => queue?.places,
  );
  perUpstream(
    "model_gateway_upstream_up",
    "Whether an upstream's health checks pass; absent where it is not checked.",
    (it) => bit(it.isUp()),
  );
  registerGauge(
    registry,
    {
      name: "model_gateway_target_resting",
      help: "Whether a model at an upstream failed so often that it is left alone.",
      labelNames: ["upstream", "model"],
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
      help: "Open connections of clients, by protocol; undecided: their first bytes have not told.",
      labelNames: ["protocol"],
    },
    (set) => {
      const counts = open();
      for (const protocol of ["undecided", "http1", "http2", "websocket"] as const) set(counts[protocol], { protocol });
    },
  );
  registerGauge(registry, { name: "model_gateway_http2_streams", help: "Open streams of HTTP/2." }, (set) =>
    set(open().streams),
  );
  registerGauge(
    registry,
    { name: "model_gateway_body_bytes", help: "Bytes of requests' bodies that are held at this moment." },
    (set) => set(bodyBytes()),
  );
  registerCounter(
    registry,
    "model_gateway_stalled_readers_total",
    "Clients that were cut because they no longer read their answer.",
    () => open().stalled,
  );
  registerCounter(
    registry,
    "model_gateway_connections_shed_total",
    "Connections that were closed, idle ones first, because the process had as many as it may.",
    () => open().shed,
  );
  registerCounter(
    registry,
    "model_gateway_http2_floods_total",
    "Sessions of HTTP/2 that were cut because they sent what no stream needs.",
    () => open().floods,
  );
}

function registerStorage(registry: Registry, { isWritable, rejectedLines }: StorageGauges): void {
  registerGauge(
    registry,
    { name: "model_gateway_storage_writable", help: "Whether what is written to the database and its notes arrives." },
    (set) => set(bit(isWritable())),
  );
  registerCounter(
    registry,
    "model_gateway_rejected_note_lines_total",
    "Lines of notes that tell of calls in another shape than any note has, and were set aside.",
    rejectedLines,
  );
}

/** Both come of one query: the registry asks for them in the order in which they were made. */
function registerHolds(registry: Registry, holds: GaugeParts["holds"]): void {
  const count = new Gauge({
    name: "model_gateway_holds",
    help: "Calls that are under way and have reserved what they may cost; of all processes on this database.",
    registers: [registry],
    collect() {
      const now = holds();
      count.set(now.count);
      held.set(units(now.amount));
    },
  });
  const held = new Gauge({
    name: "model_gateway_held_units",
    help: "What calls that are under way have reserved, in units; of all processes on this database.",
    registers: [registry],
  });
}

/** Tells a number that is counted elsewhere and only grows. */
function registerCounter(registry: Registry, name: string, help: string, read: () => number): void {
  const counter = new Counter({
    name,
    help,
    registers: [registry],
    collect() {
      counter.reset();
      counter.inc(read());
    },
  });
}

interface GaugeNames<L extends string> {
  readonly name: string;
  readonly help: string;
  readonly labelNames?: readonly L[];
}

type Set<L extends string> = (value: number | undefined, labels?: Readonly<Record<L, string>>) => void;

/** `read` tells all that there is to tell, each time anew. */
function registerGauge<L extends string = never>(
  registry: Registry,
  names: GaugeNames<L>,
  read: (set: Set<L>) => void,
): void {
  const gauge = new Gauge<L>({
    ...names,
    registers: [registry],
    collect() {
      gauge.reset();
      read((value, labels) => {
        if (value !== undefined) gauge.set(labels ?? {}, value);
      });
    },
  });
}

function bit(is: boolean | undefined): number | undefined {
  return is === undefined ? undefined : Number(is);
}
