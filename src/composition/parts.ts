/** Puts together what the gateway is made of: what it is given, and what several steps of a call share. */
import type { Logger } from "pino";
import type { Config } from "../config/config.ts";
import type { LiveConfig } from "../config/live/live-config.ts";
import type { ProcessConfig } from "../config/shape.ts";
import type { ConfigurationSource } from "../config/stored/source.ts";
import { type BodyBudget, createBodyBudget } from "../doors/body/body-budget.ts";
import type { Ledger } from "../ledger/contract.ts";
import { patientLedger } from "../ledger/owner/patient-ledger.ts";
import { createLimit, type Limit } from "../pipeline/admit/limit.ts";
import { createDrains, type Drains } from "../pipeline/attempt/drains.ts";
import { type Counting, createCounting } from "../pipeline/charge/count-used.ts";
import { type AnswerCache, createAnswerCache } from "../pipeline/replay/answer-cache.ts";
import { createHealth, type Health } from "../providers/upstream/health.ts";
import { createQueues, type Queues } from "../providers/upstream/queue.ts";
import { CallerAbort } from "../runtime/caller-abort.ts";
import { newId } from "../runtime/ids.ts";
import { createAvailable, memoryBytesHere } from "../runtime/memory/machine-memory.ts";
import { createMemoryRoom, type MemoryRoom } from "../runtime/memory/memory-room.ts";
import { Background } from "../services/responses/background.ts";
import type { Storage } from "../storage/storage.ts";
import { type CatalogOptions, createModelTable, type ModelTable, type Target } from "../targets/catalog.ts";
import { createTargets, type Targets } from "../targets/targets.ts";
import { counter } from "../tokens/counter.ts";
import type { Accelerators } from "./accelerators.ts";
import { withEmbedded } from "./embedded-models.ts";
import type { Limits, WorkerPlace } from "./limits.ts";
import { createUpstreams, type Upstreams } from "./live/upstreams.ts";
import { logFailures } from "./trouble-log.ts";

/** Parts is what the gateway is given. */
export interface Parts {
  /** config is what holds from the start to the end. */
  readonly config: ProcessConfig;
  /** The configuration in force. Whatever may change while the gateway serves is read from it when it is used. */
  readonly live: LiveConfig;
  readonly storage: Storage;
  readonly log: Logger;
  /** clock returns milliseconds since 1970. */
  readonly clock: () => number;
  /** random returns a number from 0 (inclusive) to 1 (exclusive). */
  readonly random: () => number;
  /** source is where the configuration comes from; undefined: it was given, and what is stored is checked by itself. */
  readonly source?: ConfigurationSource | undefined;
  /** Undefined for a gateway of one process. */
  readonly worker?: WorkerPlace | undefined;
  /** Tells whether there is memory for long requests. Default: by this machine's, or its container's. */
  readonly memory?: MemoryRoom | undefined;
}

/** Shared is what several steps of a call share. */
export interface Shared {
  /** Names this process among those that share the database: where it claims keys for repeated calls, and makes responses. */
  readonly node: string;
  readonly accelerators: Accelerators;
  readonly catalog: ModelTable;
  readonly upstreams: Upstreams;
  readonly health: Health;
  readonly queues: Queues;
  readonly targets: Targets;
  readonly ledger: Ledger;
  readonly counting: Counting;
  /** The streams that are read on after their callers have left. */
  readonly drains: Drains;
  /** The responses that are made in the background. */
  readonly background: Background;
  /** To be fired when nobody can wait for counts any more. */
  readonly hurry: CallerAbort;
  readonly limit: Limit;
  readonly limits: Limits;
  /** The bytes of requests' bodies that are held. */
  readonly bodies: BodyBudget;
  /** The bytes of what connections remember of the responses on them. */
  readonly memories: BodyBudget;
  /** Returns undefined where no answer is kept. */
  readonly cache: () => AnswerCache | undefined;
  /** Told of what went wrong where no caller waits. */
  readonly onError: (error: unknown) => void;
}

export function createShared(
  { config, live, storage, log, clock, worker, memory = memoryRoomHere(log) }: Parts,
  accelerators: Accelerators,
  limits: Limits,
): Shared {
  const onError = logFailures(log, "usage could not be written");
  const onUncounted = logFailures(log, "what a call used could not be counted, and is guessed");
  const hurry = new CallerAbort();
  const health = createHealth(clock);
  const first = live.current();
  const settings = live.current;
  const queues = createQueues(first.upstreams, limits.sharedPlaces);
  const roomFor = (bounds: Config["bodiesInFlight"]) =>
    createBodyBudget({ ...bounds, maxBytesEach: config.maxBodyBytes, memory });
  const node = newId("nod", clock());
  const ledger = accelerators.createLedger({ openBooks: storage.openBooks(accelerators.hasJournal), clock, onError });
  return {
    node,
    accelerators,
    catalog: createModelTable(withEmbedded(first), catalogOptions(first)),
    upstreams: createUpstreams(first.upstreams, { ...accelerators, clock, health, queues, onError }),
    health,
    queues,
    targets: createTargets({ settings, clock, onResting: restLog(log) }),
    ledger: worker && !storage.database ? patientLedger(ledger, worker.link, onError) : ledger,
    counting: createCounting({ counter, hurry, onError: onUncounted }),
    drains: createDrains(settings),
    background: new Background({
      store: storage.backgroundResponses,
      node,
      mayLive: storage.mayLive,
      limits: config.backgroundResponses,
      rooms: roomFor(config.backgroundResponses),
      settings,
      clock,
      onError,
    }),
    hurry,
    limit: createLimit({ limiter: limits.rates, clock }),
    limits,
    bodies: roomFor(config.bodiesInFlight),
    memories: roomFor(config.responsesSocket),
    cache: createAnswerCache({ settings, clock }),
    onError,
  };
}

/** memoryRoomHere goes by the memory of this machine, or of its container, and logs when that is short. */
function memoryRoomHere(log: Logger): MemoryRoom {
  const totalBytes = memoryBytesHere();
  const onShort = (availableBytes: number) =>
    log.warn(
      { available_bytes: availableBytes, total_bytes: totalBytes },
      "memory is short: long requests are refused",
    );
  return createMemoryRoom({ totalBytes, availableBytes: createAvailable(), onShort });
}

/** catalogOptions returns how the models of a configuration are made. */
export function catalogOptions({ unpriced, upstreams }: Pick<Config, "unpriced" | "upstreams">): CatalogOptions {
  const regional = upstreams.filter((one) => one.regional).map(({ name }) => name);
  return { unpriced: unpriced.price, regional: new Set(regional) };
}

function restLog(log: Logger) {
  return ({ upstream, model }: Target, isResting: boolean) => {
    if (isResting) log.warn({ upstream, model }, "a target is left alone: it keeps failing");
    else log.info({ upstream, model }, "a target takes calls again");
  };
}
