/**
 * `model-gateway serve`: runs the gateway until SIGTERM, SIGINT or SIGHUP.
 *
 * While nobody operates the gateway it prints the link for its first user, to standard output only, never to the log.
 */
import { existsSync } from "node:fs";
import type { Logger } from "pino";
import { LinkKind } from "../../gen/modelgateway/v1/sessions_pb.ts";
import { type Gateway, startGateway } from "../composition/gateway.ts";
import { withEmbedded } from "../composition/providers.ts";
import { type Config, configFile, loadConfig } from "../config/config.ts";
import { createDiscovery } from "../config/discovery/discover.ts";
import { formatDecimal } from "../runtime/decimal.ts";
import { troubleOf } from "../runtime/write-trouble.ts";
import { issueSetUpLink, linkUrl } from "../services/people/links.ts";
import type { Storage } from "../storage/storage.ts";
import { createCatalog } from "../targets/catalog.ts";
import { openConfigured } from "./command.ts";
import { collectWhenIdle } from "./engine/collect-when-idle.ts";
import { setEngine } from "./engine/engine.ts";
import { restartFor } from "./engine/restart.ts";
import { readOptions } from "./line/read-options.ts";
import { explainListening, refuseTakenPorts, rootUrl } from "./listening.ts";
import { openLog } from "./log-lines.ts";

export async function serve(args: readonly string[]): Promise<void> {
  const { values } = readOptions("serve", args);
  const config = loadConfig(values.config);
  const greet: Ready = async (gateway, storage) => {
    const root = config.publicUrls.root ?? rootUrl(gateway);
    console.log(`model-gateway serves at ${rootUrl(gateway)}`);
    console.log(`Its dashboard is at ${root}/dashboard`);
    const { metricsPort: port } = gateway;
    if (config.metrics && port !== undefined) {
      console.log(`Metrics are read at ${rootUrl({ ...config.metrics, port })}/metrics`);
    }
    if (configFile(values.config) === undefined && existsSync("gateway.yaml")) console.log(notRead);
    const link = await issueSetUpLink(storage, Date.now());
    if (!link) return;
    console.log("Nobody operates this gateway yet. Open this address within 24 hours to become its first user:");
    console.log(linkUrl(root, LinkKind.SET_UP, link.token));
  };
  await runGateway(config, { greet });
}

const notRead = "gateway.yaml of this folder is not read: `--config gateway.yaml`, or GATEWAY_CONFIG, names it";

type Ready = (gateway: Gateway, storage: Storage) => Promise<void>;

export interface RunOptions {
  /** prepare does work of the start while calls are accepted. Until it resolves the gateway is not ready. */
  readonly prepare?: Ready;
  /** warmsModels loads the embedded models at once, so that their first call is as quick as the next. */
  readonly warmsModels?: boolean;
  /** greet prints messages for the person who started it. */
  readonly greet: Ready;
}

/** runGateway starts the gateway and serves until a signal stops it. Throws a StartError. */
export async function runGateway(config: Config, { prepare, greet, warmsModels }: RunOptions): Promise<void> {
  const hasMemory = restartFor(config.memory);
  setEngine();
  const log = openLog(config.logLevel);
  if (config.memory && !hasMemory)
    log.warn({ memory: config.memory }, "another size of V8's young generation is set already");
  await refuseTakenPorts(config);
  const storage = await openConfigured(config, (error) =>
    log.error({ err: error }, "work on the database failed, and goes on"),
  );
  const discovery = createDiscovery(config, { log });
  try {
    const found = { ...config, models: await discovery.begin() };
    if (found.models.length === 0 && !found.embeddedModels) log.warn(noModel);
    const warnOfPrices = createPriceReporter(config, log);
    warnOfPrices(found.models);
    const parts = { config: found, storage, log, isPreparing: prepare !== undefined };
    const gateway = await explainListening(config, () => startGateway(parts));
    discovery.follow((models) => {
      gateway.serveModels(models);
      warnOfPrices(models);
    });
    const asked = stopSignal();
    let endCollecting = () => {};
    // Calls are accepted meanwhile.
    void gateway.warm(warmsModels);
    try {
      await prepare?.(gateway, storage);
      gateway.prepared();
      await greet(gateway, storage).catch((err: unknown) => {
        // It serves; what it would have said is said at its next start.
        if (troubleOf(err) === undefined) throw err;
        log.warn({ err }, "the database did not answer just after the start");
      });
      endCollecting = collectWhenIdle({ isIdle: createIsIdle(gateway) });
      await asked;
    } finally {
      endCollecting();
      const waiting = setTimeout(() => log.warn({ at_most_ms: config.drainMs }, stillRunning), quickMs);
      await gateway.close();
      clearTimeout(waiting);
    }
  } finally {
    discovery.close();
    await storage.close();
  }
  // Node removes signal handlers before a process with nothing left to do is gone; a repeated signal would then kill
  // it.
  process.once("beforeExit", () => process.exit());
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

const noModel =
  "no model is served: the configuration has no model with an upstream. " +
  "`embedded_models: true` serves the embedded ones";

/**
 * createPriceReporter returns a function that logs, once each, that prices rely on an assumed dollar rate, or that
 * served models have no price.
 */
function createPriceReporter({ embeddedModels, unpriced, cataloguePrices, catalogue, unit }: Config, log: Logger) {
  const warnOfUnpriced = once((models: number) => {
    if (unpriced.price) log.info({ models }, `models without a price cost what \`unpriced_models\` says`);
    else log.warn({ models, remedy: unpricedRemedy }, unpriced.isFreeForFirst ? freeForFirst : refused);
  });
  const warnOfRate = once(() => {
    const rate = `1 USD = ${formatDecimal(cataloguePrices.dollar)} ${unit.code}`;
    log.warn({ rate, remedy: rateRemedy }, "the exchange rate of the US dollar is assumed");
  });
  const builtIn = new Set(catalogue.map(({ price }) => price));
  return (models: Config["models"]) => {
    if (cataloguePrices.isAssumed && models.some(({ price }) => price && builtIn.has(price))) warnOfRate();
    const served = createCatalog(withEmbedded({ embeddedModels, models })).list();
    const count = served.filter((one) => !one.price).length;
    if (count > 0) warnOfUnpriced(count);
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

const rateRemedy = "set `catalogue_prices.dollar` in gateway.yaml to the rate that you want";
const freeForFirst =
  "models without a price are free for the operator's own first account, and refused to others that pay beforehand";
const refused = "models without a price are refused to accounts that pay beforehand";
const unpricedRemedy = "set `price` of a model, or `unpriced_models`, in gateway.yaml";

/** echoMs: one Ctrl-C may arrive several times, from the terminal, from npm, and from `bin/model-gateway.js`. */
const echoMs = 500;

/** stopSignal resolves at the first signal. Another signal more than `echoMs` later ends the process at once. */
function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    let asked: number | undefined;
    const onSignal = () => {
      if (asked !== undefined && performance.now() - asked > echoMs) process.exit(1);
      asked ??= performance.now();
      resolve();
    };
    // A closed terminal sends SIGHUP: running calls are completed then, too.
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, onSignal);
  });
}
