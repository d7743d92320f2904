/** What the gateway is made of: what it is given, and what several steps of a call share. */
import type { Logger } from "pino";
import type { Config } from "../config/config.ts";
import type { ConfigurationSource } from "../config/stored/source.ts";
import { type BodyBudget, createBodyBudget } from "../doors/body/body-budget.ts";
import type { Ledger } from "../ledger/contract.ts";
import { createLimit, type Limit } from "../pipeline/admit/limit.ts";
import { createDrains, type Drains } from "../pipeline/attempt/drains.ts";
import { withTokenCount } from "../pipeline/charge/count-tokens.ts";
import { type Counting, createCounting } from "../pipeline/charge/count-used.ts";
import { type AnswerCache, createAnswerCache } from "../pipeline/replay/answer-cache.ts";
import type { Provider } from "../providers/contract.ts";
import { createHealth, type Health } from "../providers/upstream/health.ts";
import { createQueues, type Queues } from "../providers/upstream/queue.ts";
import { CallerAbort } from "../runtime/caller-abort.ts";
import { newId } from "../runtime/ids.ts";
import { Background } from "../services/responses/background.ts";
import type { Storage } from "../storage/storage.ts";
import { createModelTable, type ModelTable, type Target } from "../targets/catalog.ts";
import { createTargets, type Targets } from "../targets/targets.ts";
import { counter } from "../tokens/counter.ts";
import { type Accelerators, chooseAccelerators } from "./accelerators.ts";
import type { Limits, WorkerPlace } from "./limits.ts";
import { createProviders, withEmbedded } from "./providers.ts";

/** What the gateway is given. */
export interface Parts {
  readonly config: Config;
  readonly storage: Storage;
  readonly log: Logger;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** From 0 (inclusive) to 1 (exclusive). */
  readonly random: () => number;
  /** Where the configuration comes from; undefined: it was given, and what is stored is checked by itself. */
  readonly source?: ConfigurationSource | undefined;
  /** Undefined for a gateway of one process. */
  readonly worker?: WorkerPlace | undefined;
}

/** What several steps of a call share. */
export interface Shared {
  readonly accelerators: Accelerators;
  readonly catalog: ModelTable;
  /** Has these models of upstreams served in the place of the configuration's. */
  readonly serveModels: (models: Config["models"]) => void;
  /** By the upstream's name. */
  readonly providers: ReadonlyMap<string, Provider>;
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
  /** Undefined where no answer is kept. */
  readonly cache: AnswerCache | undefined;
  /** Told of what went wrong where no caller waits. */
  readonly onError: (error: unknown) => void;
}

export function createShared({ config, storage, log, clock }: Parts, limits: Limits): Shared {
  const onError = (error: unknown) => log.error({ err: error }, "usage could not be written");
  const onUncounted = (error: unknown) =>
    log.error({ err: error }, "what a call used could not be counted, and is guessed");
  const accelerators = chooseAccelerators(config.accelerators);
  const hurry = new CallerAbort();
  const health = createHealth(clock);
  const queues = createQueues(config.upstreams, limits.sharedPlaces);
  const providers = [...createProviders(config.upstreams, clock, accelerators)];
  // Who waits for a place is no attempt yet.
  const watched = (name: string, provider: Provider) => queues.wrap(name, health.watch(name, provider));
  const catalog = createModelTable(withEmbedded(config), {
    unpriced: config.unpriced.price,
    regional: new Set(config.upstreams.filter(({ regional }) => regional).map(({ name }) => name)),
  });
  return {
    accelerators,
    catalog,
    serveModels: (models) => catalog.replace(withEmbedded({ ...config, models })),
    // What is counted here is no attempt at an upstream.
    providers: new Map(providers.map(([name, provider]) => [name, withTokenCount(watched(name, provider))])),
    health,
    queues,
    targets: createTargets({ ...config.breaker, retryShare: config.retries.share, clock, onResting: restLog(log) }),
    ledger: accelerators.createLedger({ openBooks: storage.openBooks(accelerators.hasJournal), clock, onError }),
    counting: createCounting({ counter, hurry, onError: onUncounted }),
    drains: createDrains(config.disconnectDrainMs),
    background: new Background({
      store: storage.backgroundResponses,
      node: newId("nod", clock()),
      limits: config.backgroundResponses,
      rooms: createBodyBudget({ ...config.backgroundResponses, maxBytesEach: config.maxBodyBytes }),
      kept: config.responses,
      clock,
      onError,
    }),
    hurry,
    limit: createLimit({ limiter: limits.rates, clock }),
    limits,
    bodies: createBodyBudget({ ...config.bodiesInFlight, maxBytesEach: config.maxBodyBytes }),
    memories: createBodyBudget({ ...config.responsesSocket, maxBytesEach: config.maxBodyBytes }),
    cache: config.cache && createAnswerCache({ ...config.cache, clock }),
    onError,
  };
}

function restLog(log: Logger) {
  return ({ upstream, model }: Target, isResting: boolean) => {
    if (isResting) log.warn({ upstream, model }, "a target is left alone: it keeps failing");
    else log.info({ upstream, model }, "a target takes calls again");
  };
}
