/**
 * `model-gateway serve`: runs the gateway until SIGTERM, SIGINT or SIGHUP.
 *
 * While nobody operates the gateway it prints the link by which its first user is made. That goes to standard output
 * alone, never to the log.
 */
import type { Logger } from "pino";
import { LinkKind } from "../../gen/modelgateway/v1/sessions_pb.ts";
import { type Config, loadConfig } from "../config/config.ts";
import { discoverModels } from "../config/discover.ts";
import { formatDecimal } from "../decimal.ts";
import { type Gateway, startGateway } from "../gateway.ts";
import { issueSetUpLink, linkUrl } from "../services/links.ts";
import { openStorage, type Storage } from "../storage/storage.ts";
import { databasePath, readOptions, rootUrl, StartError } from "./command.ts";
import { setEngine } from "./engine.ts";
import { openLog } from "./log-lines.ts";

export async function serve(args: readonly string[]): Promise<void> {
  const { values } = readOptions("serve", args, {});
  const config = loadConfig(values.config);
  await runGateway(config, async (gateway, storage) => {
    const root = config.publicUrls.root ?? rootUrl(gateway);
    console.log(`model-gateway serves at ${rootUrl(gateway)}`);
    console.log(`Its dashboard is at ${root}/dashboard`);
    const { metricsPort: port } = gateway;
    if (config.metrics && port !== undefined) {
      console.log(`Metrics are read at ${rootUrl({ ...config.metrics, port })}/metrics`);
    }
    const link = await storage.whenFree(() => issueSetUpLink(storage, Date.now()));
    if (!link) return;
    console.log("Nobody operates this gateway yet. Open this address within 24 hours to become its first user:");
    console.log(linkUrl(root, LinkKind.SET_UP, link.token));
  });
}

/** Starts the gateway, calls `ready`, and serves until a signal asks it to stop. Throws a StartError. */
export async function runGateway(
  config: Config,
  ready: (gateway: Gateway, storage: Storage) => Promise<void>,
): Promise<void> {
  setEngine();
  const log = openLog(config.logLevel);
  const storage = await openStorage(databasePath(config), config.durability);
  try {
    const found = await discoverModels(config, log);
    if (found.models.length === 0 && !found.embeddedModels) log.warn(noModel);
    if (found.cataloguePrices.isAssumed && servesCatalogue(found))
      log.warn(assumedRate(found), "the rate of the dollar is assumed");
    const gateway = await start(found, storage, log);
    const asked = signalled();
    // Calls are taken meanwhile.
    void gateway.warm();
    try {
      await ready(gateway, storage);
      await asked;
    } finally {
      const waiting = setTimeout(() => log.warn({ at_most_ms: config.drainMs }, stillRunning), quickMs);
      await gateway.close();
      clearTimeout(waiting);
    }
  } finally {
    await storage.close();
  }
  // Node takes down the handlers before a process that has nothing left to do is gone: an echo that came then would kill it.
  process.once("beforeExit", () => process.exit());
}

/** How long the gateway may take to end without a word. */
const quickMs = 1_000;
const stillRunning = "calls that run are waited for; a second signal ends them at once";

/** Whether a model is served at the catalogue's own price. */
function servesCatalogue({ models, catalogue }: Config): boolean {
  return models.some(({ price }) => price && catalogue.some((known) => known.price === price));
}

/** Tells the operator which rate of the dollar the gateway assumes, and how to set another. */
function assumedRate({ cataloguePrices, unit }: Config) {
  const rate = `1 USD = ${formatDecimal(cataloguePrices.dollar)} ${unit.code}`;
  return { rate, remedy: "set `catalogue_prices.dollar` in gateway.yaml to the rate that you want" };
}

const noModel =
  "no model is served: the configuration names none that an upstream of its has. " +
  "`embedded_models: true` serves the embedded ones";

async function start(config: Config, storage: Storage, log: Logger): Promise<Gateway> {
  try {
    return await startGateway({ config, storage, log });
  } catch (error) {
    const { code, syscall, purpose } = error as NodeJS.ErrnoException & { readonly purpose?: "metrics" };
    if (!code || (syscall !== "listen" && syscall !== "getaddrinfo")) throw error;
    const at = purpose && config.metrics ? { ...config.metrics, ...metricsWords } : { ...config, ...ownWords };
    const why = reasons(at).get(code) ?? code;
    throw new StartError(`cannot listen on ${at.host}, port ${at.port}${at.what}: ${why}`, { cause: error });
  }
}

/** What is listened for, and what sets where. */
const ownWords = { what: "", hostName: "HOST", portName: "PORT" };
const metricsWords = { what: " for metrics", hostName: "`metrics.host`", portName: "METRICS_PORT" };

/** What to do about an address that cannot be listened on. */
function reasons({ hostName, portName }: typeof ownWords): ReadonlyMap<string, string> {
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

/** One Ctrl-C may arrive several times: from the terminal, from npm, and from `bin/model-gateway.js`. */
const echoMs = 500;

/** Resolves at the first signal; a second one, once the echoes of the first are over, ends the process at once. */
function signalled(): Promise<void> {
  return new Promise((resolve) => {
    let asked: number | undefined;
    const onSignal = () => {
      if (asked !== undefined && performance.now() - asked > echoMs) process.exit(1);
      asked ??= performance.now();
      resolve();
    };
    // A terminal that is closed sends SIGHUP: calls that run are waited for then, too.
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, onSignal);
  });
}
