/**
 * `model-gateway serve`: runs the gateway until SIGTERM, SIGINT or SIGHUP.
 *
 * While nobody operates the gateway it prints the link for its first user, to standard output only, never to the log.
 */
import { existsSync } from "node:fs";
import { createServer } from "node:net";
import type { Logger } from "pino";
import { LinkKind } from "../../gen/modelgateway/v1/sessions_pb.ts";
import { type Gateway, type GatewayParts, startGateway } from "../composition/gateway.ts";
import { withEmbedded } from "../composition/providers.ts";
import { type Config, configFile, loadConfig } from "../config/config.ts";
import { createDiscovery } from "../config/discovery/discover.ts";
import { formatDecimal } from "../runtime/decimal.ts";
import { issueSetUpLink, linkUrl } from "../services/people/links.ts";
import { openStorage, type Storage } from "../storage/storage.ts";
import { createCatalog } from "../targets/catalog.ts";
import { databasePath, rootUrl } from "./command.ts";
import { collectWhenIdle } from "./engine/collect-when-idle.ts";
import { setEngine } from "./engine/engine.ts";
import { restartFor } from "./engine/restart.ts";
import { StartError } from "./line/errors.ts";
import { readOptions } from "./line/read-options.ts";
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
    const link = await storage.whenFree(() => issueSetUpLink(storage, Date.now()));
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
  const storage = await openStorage(databasePath(config), config.durability);
  const discovery = createDiscovery(config, { log });
  try {
    const found = { ...config, models: await discovery.begin() };
    if (found.models.length === 0 && !found.embeddedModels) log.warn(noModel);
    const tellPrices = createPriceReporter(config, log);
    tellPrices(found.models);
    const gateway = await start({ config: found, storage, log, isPreparing: prepare !== undefined });
    discovery.follow((models) => {
      gateway.serveModels(models);
      tellPrices(models);
    });
    const asked = stopSignal();
    let endCollecting = () => {};
    // Calls are accepted meanwhile.
    void gateway.warm(warmsModels);
    try {
      await prepare?.(gateway, storage);
      gateway.prepared();
      await greet(gateway, storage);
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
    const { upstreamRunning, upstreamQueued, drains, background, holds, ended } = gateway.counts();
    const isSame = ended === before;
    before = ended;
    return isSame && upstreamRunning + upstreamQueued + drains + background + holds === 0;
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
  const tellUnpriced = once((models: number) => {
    if (unpriced.price) log.info({ models }, `models without a price cost what \`unpriced_models\` says`);
    else log.warn({ models, remedy: unpricedRemedy }, unpriced.isFreeForFirst ? freeForFirst : refused);
  });
  const tellRate = once(() => {
    const rate = `1 USD = ${formatDecimal(cataloguePrices.dollar)} ${unit.code}`;
    log.warn({ rate, remedy: rateRemedy }, "the exchange rate of the US dollar is assumed");
  });
  const builtIn = new Set(catalogue.map(({ price }) => price));
  return (models: Config["models"]) => {
    if (cataloguePrices.isAssumed && models.some(({ price }) => price && builtIn.has(price))) tellRate();
    const served = createCatalog(withEmbedded({ embeddedModels, models })).list();
    const count = served.filter((one) => !one.price).length;
    if (count > 0) tellUnpriced(count);
  };
}

/** once returns a function that calls `tell` the first time only. */
function once<A extends readonly unknown[]>(tell: (...told: A) => void): (...told: A) => void {
  let isTold = false;
  return (...told) => {
    if (!isTold) tell(...told);
    isTold = true;
  };
}

const rateRemedy = "set `catalogue_prices.dollar` in gateway.yaml to the rate that you want";
const freeForFirst =
  "models without a price are free for the operator's own first account, and refused to others that pay beforehand";
const refused = "models without a price are refused to accounts that pay beforehand";
const unpricedRemedy = "set `price` of a model, or `unpriced_models`, in gateway.yaml";

/**
 * refuseTakenPorts listens for a moment, before anything else is done: a start beside another gateway must change nothing, least of
 * all the tables of its database. Throws a StartError.
 */
async function refuseTakenPorts(config: Config): Promise<void> {
  const { host, port, metrics } = config;
  await saying(config, async () => {
    await tryListening({ host, port });
    if (metrics?.isAsked) await tryListening(metrics).catch((error) => Promise.reject(asOfMetrics(error)));
  });
}

function asOfMetrics(error: unknown): unknown {
  return Object.assign(error as Error, { purpose: "metrics" });
}

function tryListening({ host, port }: { readonly host: string; readonly port: number }): Promise<void> {
  const server = createServer();
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port }, () => server.close(() => resolve()));
  });
}

function start(parts: GatewayParts): Promise<Gateway> {
  return saying(parts.config, () => startGateway(parts));
}

/** saying runs what listens, and says of its errors what to do. Throws a StartError. */
async function saying<T>(config: Config, listen: () => Promise<T>): Promise<T> {
  try {
    return await listen();
  } catch (error) {
    const { code, syscall, purpose } = error as NodeJS.ErrnoException & { readonly purpose?: "metrics" };
    if (!code || (syscall !== "listen" && syscall !== "getaddrinfo")) throw error;
    const at = purpose && config.metrics ? { ...config.metrics, ...metricsListener } : { ...config, ...publicListener };
    const why = reasons(at).get(code) ?? code;
    throw new StartError(`cannot listen on ${at.host}, port ${at.port}${at.what}: ${why}`, { cause: error });
  }
}

/** publicListener names the settings of a listener in error messages. */
const publicListener = { what: "", hostName: "HOST", portName: "PORT" };
const metricsListener = { what: " for metrics", hostName: "METRICS_HOST", portName: "METRICS_PORT" };

/** reasons explains the errors of listening and what to do about them. */
function reasons({ hostName, portName }: typeof publicListener): ReadonlyMap<string, string> {
  return new Map(
    Object.entries({
      EADDRINUSE: `the port is taken. Stop what uses it, or set ${portName} to another`,
      EACCES: `ports below 1024 are not for everyone. Set ${portName} to a higher one`,
      EADDRNOTAVAIL: `this machine does not have that address. Set ${hostName} to one that it has, or to 0.0.0.0 for all`,
      ENOTFOUND: `there is no such host. Set ${hostName} to an address of this machine`,
      EAI_AGAIN: `the name cannot be looked up. Set ${hostName} to an address of this machine`,
    }),
  );
}

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
