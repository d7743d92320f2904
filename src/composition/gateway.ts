/**
 * The gateway: everything that `composition` puts together, listening. The only file that starts and stops it.
 */
import { setTimeout as delay } from "node:timers/promises";
import { Family } from "../../gen/modelgateway/v1/access_pb.ts";
import { httpNotUnderstood, methodNotAllowed, type Refusal } from "../call/refusals.ts";
import type { Config } from "../config/config.ts";
import { createLiveConfig, type LiveConfig } from "../config/live/live-config.ts";
import { type ConnectionCounts, nothingOpen } from "../doors/listener/connections.ts";
import { type Listener, listen } from "../doors/listener/listen.ts";
import { refusalAnswer } from "../doors/rest/refusal-answers.ts";
import { createReadiness, type Readiness } from "../doors/rpc/health.ts";
import { chooseAccelerators } from "./accelerators.ts";
import { createDoors, type Doors } from "./doors.ts";
import { startLimits } from "./limits.ts";
import { applyConfig } from "./live/apply-config.ts";
import { startChecks } from "./live/health-checks.ts";
import { createSeeing, type Seeing } from "./observers.ts";
import { createShared, type Parts, type Shared } from "./parts.ts";
import { createRetention } from "./retention.ts";
import { logTrouble } from "./trouble-log.ts";

/** GatewayParts are the parts that a gateway is started with. Without `clock` and `random` it takes the machine's. */
export type GatewayParts = Omit<Parts, "clock" | "random" | "config" | "live"> &
  Partial<Pick<Parts, "clock" | "random">> &
  Configured & {
    /** isPreparing is whether it takes calls, but is not ready until `prepared` is called: something of its start is still to be made. */
    readonly isPreparing?: boolean;
    /** A bound socket that it listens on in the place of the configuration's address. */
    readonly fd?: number | undefined;
  };

/** Configured is a configuration that never changes, or one that may while the gateway serves. */
type Configured = { readonly config: Config } | { readonly live: LiveConfig };

/** countMs is how long closing waits for what calls used to be counted. The ledger waits longer, for what is guessed to be charged. */
const countMs = 5_000;
/**
 * leaveMs is how long a gateway that was replaced waits for its connections to end by themselves, and how often it looks; in milliseconds.
 */
const [leaveMs, lookMs] = [5_000, 50];

/** Counts are numbers of things that are open or under way. All are 0 once nobody calls and no connection is kept, but for the totals. */
export interface Counts extends ConnectionCounts, Activity {
  /** Bytes of what connections remember of the responses on them. */
  readonly rememberedBytes: number;
}

/** Activity is the part of the counts that is in memory. Looking at it never touches the database. */
export interface Activity {
  /** Bytes of requests' bodies. */
  readonly bodyBytes: number;
  /** Requests at upstreams, and calls that wait for a place there. */
  readonly upstreamRunning: number;
  readonly upstreamQueued: number;
  /** Streams whose callers have left, which are read on to their usage. */
  readonly drains: number;
  /** Calls of keys that may have only so many running. */
  readonly keyCalls: number;
  /** Responses that are made in the background. */
  readonly background: number;
  /** Calls that have ended so far. */
  readonly ended: number;
}

export interface Gateway {
  readonly host: string;
  readonly port: number;
  /** metricsPort is where metrics are read, if they are. */
  readonly metricsPort: number | undefined;
  /** Accepts the connections of another bound socket, too. */
  readonly adopt: Listener["adopt"];
  /** Returns what is open and under way at this moment. */
  counts(): Counts;
  activity(): Activity;
  /** Returns how many calls hold credit, of all processes on the database. */
  holds(): Promise<number>;
  /** prepared says that it is ready, where it was started as one that is not yet. */
  prepared(): void;
  /**
   * Compiles what the first calls would wait for, while calls are taken. `withModels` loads the embedded models, too, which
   * takes memory that they do without until somebody calls them. Resolves when nothing is left to load, or the gateway stops; never
   * rejects.
   */
  warm(withModels?: boolean): Promise<void>;
  /** Stops accepting, finishes what runs, at most for the configured time, and lets go of everything but storage. */
  close(): Promise<void>;
  /**
   * Does the same where another process has taken its place: it stops accepting at once, and its connections end with their next answers,
   * so that no client finds one closed that it is about to use.
   */
  leave(): Promise<void>;
}

/** startGateway starts the gateway. Throws where the port is taken or a route is broken. */
export async function startGateway(given: GatewayParts): Promise<Gateway> {
  const live = "live" in given ? given.live : createLiveConfig(given.config);
  const config = live.current();
  const parts: Parts = { clock: given.storage.database?.now ?? Date.now, random: Math.random, ...given, config, live };
  const { storage, log } = parts;
  const accelerators = await chooseAccelerators(config.accelerators);
  const shared = createShared(parts, accelerators, await startLimits(parts));
  const { ledger, onError } = shared;
  const readiness = createReadiness(storage.writable, given.isPreparing);
  let listener: Listener | undefined;
  const open = () => listener?.counts() ?? nothingOpen;
  const seeing = await createSeeing(parts, shared, open).catch(afterClosing(shared.limits));
  const doors = createDoors(parts, shared, seeing.observers, readiness);
  const handlePlain = accelerators.servesPlainPosts ? doors.handlePlain : undefined;
  const plainOptions = { remembersHeads: accelerators.remembersHeads };
  const rejectionBody = (status: number) => refusalAnswer(Family.OPENAI, rejectionOf(status), "").body;
  const { host, port, idleMs, stalledReaderMs: stalledMs, maxConnections } = config;
  const at = { fd: given.fd, host, port, idleMs, stalledMs, maxConnections };
  const listening = await listen({ ...at, ...doors, handlePlain, plainOptions, rejectionBody }).catch(
    afterClosing(seeing, shared.limits),
  );
  listener = listening;
  const endLog = logTrouble(parts);
  // Posts what processes before this one left charged, and releases what they left reserved.
  const endShowing = storage.showProcess({ node: shared.node, clock: parts.clock, onError, post: ledger.sweep });
  const checks = startChecks(parts, shared);
  // The owner of SQLite's file sees to it.
  const retention = parts.worker && !config.database ? undefined : startRetention(parts, shared);
  const endApplying = applyConfig(parts, shared, { checks, retention });
  const finish = createFinish(parts, shared, { listening, seeing, checks, retention, endLog, endApplying, endShowing });
  const activity = () => activityAt(shared, seeing.ended());
  return {
    host: listening.host,
    port: listening.port,
    activity,
    counts: () => ({ ...open(), ...activity(), rememberedBytes: shared.memories.bytes }),
    holds: async () => (await storage.holds.total()).count,
    metricsPort: seeing.metricsPort,
    prepared: readiness.prepared,
    warm: (withModels = false) => warm(doors, withModels ? shared : undefined, log, readiness),
    adopt: listening.adopt,
    async leave() {
      readiness.drain(true);
      listening.stopAccepting();
      const closesAt = performance.now() + leaveMs;
      while (isAnyOpen(open()) && performance.now() < closesAt) await delay(lookMs);
      await finish();
    },
    async close() {
      readiness.drain();
      // Load balancers that ask for readiness go elsewhere meanwhile, and connections end with their next answer.
      if (config.stopDelayMs > 0) await delay(config.stopDelayMs);
      await finish();
    },
  };
}

function isAnyOpen({ undecided, http1, http2, websocket }: ConnectionCounts): boolean {
  return undecided + http1 + http2 + websocket > 0;
}

/** createFinish returns what finishes everything that runs, once no further calls come. */
function createFinish({ config }: Parts, shared: Shared, { listening, seeing, ...open }: Open): () => Promise<void> {
  const { ledger, drains, background, upstreams } = shared;
  return async () => {
    open.endApplying();
    open.checks.close();
    ledger.ending();
    const closesAt = performance.now() + config.drainMs;
    const left = () => Math.max(0, closesAt - performance.now());
    // Who follows a response in the background holds a connection until its end.
    await Promise.all([listening.close(config.drainMs), background.close(config.drainMs)]);
    // What was begun meanwhile.
    await background.close(left());
    await drains.close(left());
    open.endLog();
    const hurrying = setTimeout(() => shared.hurry.abort(), countMs);
    await ledger.close();
    clearTimeout(hurrying);
    await open.retention?.close();
    open.endShowing();
    await shared.limits.close();
    await upstreams.close();
    await seeing.close();
  };
}

/** Open is what is closed at the end. */
interface Open {
  readonly listening: Listener;
  readonly seeing: Seeing;
  readonly checks: ReturnType<typeof startChecks>;
  readonly retention: ReturnType<typeof startRetention> | undefined;
  readonly endLog: () => void;
  readonly endApplying: () => void;
  readonly endShowing: () => void;
}

/** afterClosing returns what rejects with the error of a start that failed, once these are closed. */
function afterClosing(...open: readonly { close(): Promise<void> }[]): (error: unknown) => Promise<never> {
  return async (error) => {
    await Promise.all(open.map((one) => one.close()));
    throw error;
  };
}

function startRetention({ live, storage, clock }: Parts, { onError }: Shared) {
  const { retention: store } = storage;
  const retention = createRetention({ store, settings: live.current, clock, onError });
  void retention.run();
  return retention;
}

function activityAt(
  { bodies, upstreams, health, queues, drains, limits, background }: Shared,
  ended: number,
): Activity {
  return {
    bodyBytes: bodies.bytes,
    upstreamRunning: health.running(),
    upstreamQueued: [...upstreams.providers().keys()].reduce((sum, name) => sum + queues.queued(name), 0),
    drains: drains.count(),
    keyCalls: limits.keyPlaces.taken(),
    background: background.count,
    ended,
  };
}

/** Compiles the rules of requests, and has every provider of `withModels` load what its served models need. */
async function warm(
  doors: Doors,
  withModels: Shared | undefined,
  log: Parts["log"],
  { isDraining }: Pick<Readiness, "isDraining">,
): Promise<void> {
  await doors.warm().catch((err: unknown) => log.error({ err }, "a rule of requests is broken"));
  if (withModels && !isDraining()) await warmModels(withModels, log);
}

async function warmModels({ catalog, upstreams }: Shared, log: Parts["log"]): Promise<void> {
  const targets = catalog.list().flatMap((model) => model.targets);
  const modelsAt = (name: string) => targets.filter(({ upstream }) => upstream === name).map(({ model }) => model);
  await Promise.all(
    [...upstreams.providers()].map(async ([upstream, { warm }]) => {
      if (!warm || modelsAt(upstream).length === 0) return;
      await warm(modelsAt(upstream));
      log.debug({ upstream }, "warm");
    }),
  );
}

/** 405 is for CONNECT, which no path takes. */
function rejectionOf(status: number): Refusal {
  return status === 405 ? methodNotAllowed("CONNECT", ["GET", "POST", "DELETE"]) : httpNotUnderstood(status);
}
