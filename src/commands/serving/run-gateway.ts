/** Runs a gateway in this process: alone, or as one of the workers of a machine. */
import type { Logger } from "pino";
import { withEmbedded } from "../../composition/embedded-models.ts";
import { type Gateway, startGateway } from "../../composition/gateway.ts";
import type { WorkerPlace } from "../../composition/limits.ts";
import { logFailures } from "../../composition/trouble-log.ts";
import { type Config, configFile, type Environment, unusedKeys } from "../../config/config.ts";
import { createDiscovery, type Discovery } from "../../config/discovery/discover.ts";
import { createLiveConfig, type ReplaceableConfig, withOperational } from "../../config/live/live-config.ts";
import type { ConfigurationSource } from "../../config/stored/source.ts";
import { formatAmount } from "../../runtime/decimal.ts";
import { troubleOf } from "../../runtime/write-trouble.ts";
import type { Storage } from "../../storage/storage.ts";
import { createCatalog } from "../../targets/catalog.ts";
import { openConfigured } from "../command.ts";
import { collectWhenIdle } from "../engine/collect-when-idle.ts";
import { setEngine } from "../engine/engine.ts";
import { restartFor } from "../engine/restart.ts";
import { openSource } from "./configuration-source.ts";
import { enginesOf } from "./engines.ts";
import { followConfiguration } from "./follow-configuration.ts";
import { explainListening, refuseTakenPorts } from "./listening.ts";
import { openLog } from "./log-lines.ts";
import { stopSignal } from "./stop-signal.ts";

export type Ready = (gateway: Gateway, storage: Storage) => Promise<void>;

export interface RunOptions {
  /** prepare does work of the start while calls are accepted. Until it resolves the gateway is not ready. */
  readonly prepare?: Ready;
  /** warmsModels loads the embedded models at once, so that their first call is as quick as the next. */
  readonly warmsModels?: boolean;
  /** greet prints messages for the person who started it. */
  readonly greet: Ready;
}

export interface ReadOptions {
  /** file is the configuration file that was named on the command line; undefined: GATEWAY_CONFIG, or none. */
  readonly file: string | undefined;
  readonly environment?: Environment;
  /** adapt changes the configuration whenever it was read. Default: it stays as it is. */
  readonly adapt?: (config: Config) => Config;
}

/**
 * runGateway starts the gateway and serves until a signal stops it. `config` is that of the file alone: what is stored is read once the
 * storage is open. Throws a StartError, or a ConfigError where what is stored cannot be served.
 */
export async function runGateway(config: Config, options: RunOptions & ReadOptions): Promise<void> {
  const hasMemory = restartFor(config.memory);
  const log = openLog(config.logLevel);
  if (config.memory && !hasMemory)
    log.warn({ memory: config.memory }, "another size of V8's young generation is set already");
  await refuseTakenPorts(config);
  let inForce = config;
  const onError = logFailures(log, "work on the database failed, and goes on");
  const storage = await openConfigured(config, onError, () => inForce);
  log.info(enginesOf(config), "the gateway starts");
  const { file, environment, adapt = (one: Config) => one } = options;
  const source = openSource({ config, storage, file, environment, log });
  let onHangUp = () => {};
  try {
    const whole = adapt(await source.load());
    inForce = whole;
    await serveUntil(whole, {
      ...options,
      ...{ log, storage, source, unusedKeys: unusedKeys(file, environment) },
      ...{ stop: () => stopSignal(() => onHangUp()).then(() => "close") },
      follow(take) {
        const at = { config: whole, file: configFile(file, environment) };
        const taken = (next: Config) => {
          take(next);
          inForce = withOperational(inForce, next);
        };
        const following = followConfiguration({ ...at, source, adapt, log, take: taken });
        onHangUp = () => void following.reload("SIGHUP");
        return following.close;
      },
    });
  } finally {
    source.close();
    await storage.close();
  }
  // Node removes signal handlers before a process with nothing left to do is gone; a repeated signal would then kill
  // it.
  process.once("beforeExit", () => process.exit());
}

/** Stop is how a gateway ends: for good, or because another process has taken its place. */
export type Stop = "close" | "leave";

export interface ServeOptions extends RunOptions {
  readonly log: Logger;
  readonly storage: Storage;
  /** source has what is stored of the configuration. */
  readonly source: ConfigurationSource;
  /** unusedKeys are the variables with keys of servers whose address is not known. */
  readonly unusedKeys: readonly string[];
  /** follow is called once it serves, with what puts another configuration in force. Returns what ends that. */
  readonly follow?: (take: (next: Config) => void) => () => void;
  /** stop is called once it listens, and resolves when it is to end. */
  readonly stop: () => Promise<Stop>;
  /** worker is its place among the workers of a machine; undefined for a gateway of one process. */
  readonly worker?: WorkerPlace;
  /** fd is the bound socket that it listens on. */
  readonly fd?: number | undefined;
}

/** serveUntil serves until it is to stop, and ends when all that ran is over. Throws a StartError. */
export async function serveUntil(config: Config, options: ServeOptions): Promise<void> {
  const { prepare, greet, warmsModels, log, storage, source, stop, worker, fd, follow = () => () => {} } = options;
  const discovery = createDiscovery(config, { log });
  // All workers have the same configuration: the first one alone warns of it.
  const says = (worker?.number ?? 1) === 1;
  let endFollowing = () => {};
  try {
    const found = { ...config, models: await discovery.begin() };
    if (says) warnOfNothing(found, options.unusedKeys, log);
    const warnOfPrices = says ? createPriceReporter(log) : () => {};
    warnOfPrices(found);
    const live = createLiveConfig(found);
    live.onChange((next) => () => warnOfPrices(next));
    const parts = { live, source, storage, log, isPreparing: prepare !== undefined, worker, fd };
    const gateway = await explainListening(config, () => startGateway(parts));
    discovery.follow((models) => live.replace({ ...live.current(), models }));
    endFollowing = follow((next) => take(next, live, discovery));
    const asked = stop();
    let how: Stop = "close";
    let endCollecting = () => {};
    // Calls are accepted meanwhile.
    void gateway.warm(warmsModels);
    try {
      await prepare?.(gateway, storage);
      gateway.prepared();
      setEngine();
      await greet(gateway, storage).catch((err: unknown) => {
        // It serves; what it would have said is said at its next start.
        if (troubleOf(err) === undefined) throw err;
        log.warn({ err }, "the database did not answer just after the start");
      });
      endCollecting = collectWhenIdle({ isIdle: createIsIdle(gateway) });
      how = await asked;
    } finally {
      endCollecting();
      const waiting = setTimeout(() => log.warn({ at_most_ms: config.drainMs }, stillRunning), quickMs);
      await gateway[how]();
      clearTimeout(waiting);
    }
  } finally {
    endFollowing();
    discovery.close();
  }
}

/** take puts another configuration in force, with the models that its upstreams list as far as they are known. */
function take(next: Config, live: ReplaceableConfig, discovery: Discovery): void {
  const { models, commit } = discovery.prepare(withOperational(live.current(), next));
  live.replace({ ...next, models });
  commit();
}

/** createIsIdle returns a function that reports whether no call is under way, and none has ended since it was asked last. */
function createIsIdle(gateway: Gateway): () => boolean {
  let before = 0;
  return () => {
    const { ended, ...underWay } = gateway.activity();
    const isSame = ended === before;
    before = ended;
    return isSame && Object.values(underWay).every((count) => count === 0);
  };
}

/** quickMs is how long stopping may take before a message is logged. */
const quickMs = 1_000;
const stillRunning = "calls that run are waited for; a second signal ends them at once";

/** warnOfNothing warns of what is configured and serves nothing. */
function warnOfNothing({ models, embeddedModels, upstreams }: Config, variables: readonly string[], log: Logger): void {
  if (models.length === 0 && !embeddedModels) log.warn(noModel);
  if (variables.length > 0)
    log.warn({ variables, remedy: addressRemedy }, "keys of servers without an address are not used");
  const asked = new Set(models.flatMap(({ targets }) => targets.map(({ upstream }) => upstream)));
  const idle = upstreams.filter(({ name, discover, disabled }) => !asked.has(name) && !discover && !disabled);
  if (idle.length === 0) return;
  log.warn({ upstreams: idle.map(({ name }) => name), remedy: targetRemedy }, "upstreams serve no model");
}

const addressRemedy =
  "set the address of the server: OPENAI_BASE_URL, AZURE_OPENAI_ENDPOINT for Azure, or `base_url` of an upstream in gateway.yaml";
const targetRemedy =
  "in gateway.yaml, give `models` such a target, or the upstream `discover: true`, to serve what it lists";

const noModel =
  "no model is served: the configuration has no model with an upstream. " +
  "`embedded_models: true` serves the embedded ones";

/**
 * createPriceReporter returns a function that logs, once each, that prices rely on an assumed dollar rate, or that
 * served models have no price.
 */
function createPriceReporter(log: Logger) {
  const warnOfUnpriced = once((models: number, unpriced: Config["unpriced"]) => {
    if (unpriced.price) log.info({ models }, `models without a price cost what \`unpriced_models\` says`);
    else log.warn({ models, remedy: unpricedRemedy }, unpriced.isFreeForFirst ? freeForFirst : refused);
  });
  const warnOfRate = once(({ cataloguePrices, unit }: Config) => {
    const rate = `1 USD = ${formatAmount(cataloguePrices.dollar, unit)}`;
    log.warn({ rate, remedy: rateRemedy }, "the exchange rate of the US dollar is assumed");
  });
  return (config: Config) => {
    const { models, embeddedModels, unpriced, cataloguePrices, catalogue } = config;
    const builtIn = new Set(catalogue.map(({ price }) => price));
    if (cataloguePrices.isAssumed && models.some(({ price }) => price && builtIn.has(price))) warnOfRate(config);
    const served = createCatalog(withEmbedded({ embeddedModels, models })).list();
    const count = served.filter((one) => !one.price).length;
    if (count > 0) warnOfUnpriced(count, unpriced);
  };
}

/** once returns a function that calls `warn` the first time only. */
function once<A extends readonly unknown[]>(warn: (...args: A) => void): (...args: A) => void {
  let isDone = false;
  return (...args) => {
    if (!isDone) warn(...args);
    isDone = true;
  };
}

const rateRemedy =
  "set `catalogue_prices.dollar` to the rate that you want, on the operator's pages or in gateway.yaml";
const freeForFirst =
  "models without a price are free for the operator's own first account, and refused to others that pay beforehand";
const refused = "models without a price are refused to accounts that pay beforehand";
const unpricedRemedy = "set `price` of a model, or `unpriced_models`, on the operator's pages or in gateway.yaml";
