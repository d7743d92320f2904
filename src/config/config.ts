/**
 * loadConfig builds one frozen Config from the file and the environment; nothing else reads either. The environment
 * takes precedence for what it can set (HOST, PORT, DATA_DIR, LOG_LEVEL). All faults are reported at once, each with
 * its file and line, and the gateway does not start.
 */
import { readFileSync } from "node:fs";
import { defaultTiers, type Tier } from "../call/tiers.ts";
import { dayMs, hourMs } from "../runtime/time/durations.ts";
import { codeOf, fileRemedy } from "../runtime/write-trouble.ts";
import { type BuiltInCatalogue, builtInCatalogue } from "./catalogue/built-in.ts";
import { cataloguePricesOf, inUnits } from "./catalogue/currency.ts";
import { asWritten, withVendor } from "./catalogue/vendors.ts";
import { checkDocument } from "./check-document.ts";
import { ConfigError } from "./config-error.ts";
import { type ConfigDocument, type Environment, type Fault, placed, readYaml } from "./document.ts";
import { type EnvironmentSettings, settingsOf, unaddressedKeys, upstreamsOf } from "./environment.ts";
import { problem } from "./fault-texts.ts";
import { processEnvironment } from "./process-environment.ts";
import { checkProfiles } from "./profile-operations.ts";
import { checkReferences } from "./references.ts";
import { defaultMaxBodyBytes, type FileConfig, fileSchema, type TierConfig } from "./schema.ts";
import {
  type ModelConfig,
  type PriceConfig,
  servedBy,
  type UpstreamConfig,
  type VendorConfig,
} from "./schema-models.ts";
import { defaultRefusedDays } from "./sections/process.ts";
import type { CacheConfig, Config } from "./shape.ts";
import type { Json, StoredDocument } from "./stored/documents.ts";
import { type FilePart, filePart, mergedDocument } from "./stored/merged.ts";

export type { CacheConfig, Config, Environment, ModelConfig, PriceConfig, UpstreamConfig };

/** onlyForCallers are the keys of gateway.yaml whose secrets neither commands nor upstreams need. */
export const onlyForCallers: ReadonlySet<string> = new Set(["operator_key", "telemetry", "redis"]);

/** onlyForServing are those whose secrets no command on the data needs: upstreams' besides. */
export const onlyForServing: ReadonlySet<string> = new Set(["upstreams", ...onlyForCallers]);

/**
 * loadDataConfig loads the configuration for a command on the data, in whose terminal the secrets of upstreams need not be set.
 * Throws a ConfigError.
 */
export function loadDataConfig(givenFile?: string): Config {
  return loadConfig(givenFile, processEnvironment(), onlyForServing);
}

/**
 * loadConfig loads the configuration of the file and the environment alone. `givenFile` is the path of gateway.yaml; the default is
 * GATEWAY_CONFIG. Throws a ConfigError.
 */
export function loadConfig(
  givenFile?: string,
  environment: Environment = processEnvironment(),
  excused?: ReadonlySet<string>,
): Config {
  return readConfig({ givenFile, environment, excused }).config;
}

/**
 * unusedKeys returns the variables with keys of servers whose address is not known. Where there is a file, the environment gives no
 * servers.
 */
export function unusedKeys(givenFile?: string, environment: Environment = processEnvironment()): readonly string[] {
  const isAlone = configFile(givenFile, environment) === undefined;
  return isAlone ? unaddressedKeys(builtInCatalogue().vendors, environment) : [];
}

export interface ReadConfigOptions {
  readonly givenFile?: string | undefined;
  readonly environment?: Environment;
  /** excused are the keys below which a variable may be unset, as long as nothing else is wrong for want of it. */
  readonly excused?: ReadonlySet<string> | undefined;
  /** stored is what is stored beside; undefined: nothing. */
  readonly stored?: StoredDocument | undefined;
  /** fileText is what the file holds, where it was read already. Default: it is read. */
  readonly fileText?: string | undefined;
}

export interface ReadConfig {
  readonly config: Config;
  /** file is what the file has, or without one what the environment gives. */
  readonly file: FilePart;
  /** effective is the document that both make together. */
  readonly effective: Json;
  /** shadowed are the parts of the stored document that are not served, since the file has them. */
  readonly shadowed: readonly string[];
}

/**
 * readConfig reads the file, and joins it with a stored document. The file has to be right by itself, so that a process can start
 * by it before it knows of a database: its models name upstreams of its own. Throws a ConfigError with all faults.
 */
export function readConfig({
  givenFile,
  environment = processEnvironment(),
  excused,
  stored,
  fileText,
}: ReadConfigOptions): ReadConfig {
  const name = configFile(givenFile, environment);
  const faults: Fault[] = [];
  const catalogue = builtInCatalogue();
  const check = (one: ConfigDocument): FileConfig => checked(one, catalogue.vendors, faults) ?? emptyFile;
  const document =
    name === undefined ? undefined : readFile(name, { environment, excused, fileText, givenFile }, faults);
  const alone = document ? check(document) : emptyFile;
  const settings = settingsOf(environment, faults);
  const ofEnvironment = name === undefined ? upstreamsOf(catalogue.vendors, environment, faults) : [];
  checkAddresses(name ?? "environment", alone, settings, faults);
  if (faults.length > 0) throw new ConfigError(faults);
  const file = filePart(name, document?.value, ofEnvironment);
  const merged = stored && mergedDocument(file, stored, document);
  const written = merged ? check(merged.document) : alone;
  if (faults.length > 0) throw new ConfigError(faults);
  const around = { version: stored?.version ?? 0, ofEnvironment, file: name, catalogue };
  const config = configOf(written, settings, around);
  const { effective = file.document, shadowed = [] } = merged ?? {};
  return { config, file, effective, shadowed };
}

/** readFile reads gateway.yaml; undefined where that cannot be read, which is among the faults. */
function readFile(
  file: string,
  { environment, excused, fileText, givenFile }: ReadConfigOptions & { environment: Environment },
  faults: Fault[],
): ConfigDocument | undefined {
  try {
    return readYaml(file, fileText ?? readFileSync(file, "utf8"), environment, excused);
  } catch (error) {
    const why = `${fileRemedy(error)} (${givenFile === undefined ? "GATEWAY_CONFIG" : "--config"})`;
    faults.push({ file, ...placed("", problem("FILE_UNREADABLE", { code: codeOf(error), why })) });
    return undefined;
  }
}

function checked(document: ConfigDocument, vendors: readonly VendorConfig[], faults: Fault[]): FileConfig | undefined {
  const names = new Set(vendors.map(({ name }) => name));
  return checkDocument(document, fileSchema, faults, (one, found) => {
    checkReferences(one, found, names);
    checkProfiles(one, found, vendors);
  });
}

/** checkAddresses finds addresses that are missing, or given twice. */
function checkAddresses(file: string, written: FileConfig, settings: EnvironmentSettings, faults: Fault[]): void {
  const [port, metrics] = [portOf(written, settings), metricsOf(written.metrics, settings)];
  if (written.database && !written.database.url && !settings.databaseUrl) {
    faults.push({ file, ...placed("database.url", problem("VARIABLE_NEEDED", { variable: "DATABASE_URL" })) });
  }
  if (settings.databaseReplicaUrl && !settings.databaseUrl && !written.database?.url) {
    faults.push({ file: "environment", ...placed("DATABASE_REPLICA_URL", problem("REPLICA_ALONE")) });
  }
  if (written.redis && !written.redis.url && !settings.redisUrl) {
    faults.push({ file, ...placed("redis.url", problem("VARIABLE_NEEDED", { variable: "REDIS_URL" })) });
  }
  if (port !== 0 && metrics?.isAsked && metrics.port === port) {
    faults.push({ file, ...placed("", problem("PORT_TAKEN", { port })) });
  }
}

function portOf(written: FileConfig, settings: EnvironmentSettings): number {
  return settings.port ?? written.port ?? 8080;
}

interface Around {
  /** version is that of the stored document. */
  readonly version: number;
  /** file is the path of gateway.yaml; undefined: there is none. */
  readonly file: string | undefined;
  /** ofEnvironment are the upstreams that the environment gives, where there is no file. */
  readonly ofEnvironment: readonly UpstreamConfig[];
  readonly catalogue: BuiltInCatalogue;
}

/** configOf makes the configuration of what is written, which has been checked. */
function configOf(
  written: FileConfig,
  settings: EnvironmentSettings,
  { version, file, ofEnvironment, catalogue }: Around,
): Config {
  const { vendors, currencies, inDollars } = catalogue;
  const unit = written.unit ?? { code: "JPY", symbol: "¥" };
  const cataloguePrices = cataloguePricesOf(written.catalogue_prices, unit.code, currencies);
  const given = new Set(ofEnvironment.map(({ name }) => name));
  const others = written.upstreams.filter(({ name }) => !given.has(name));
  const upstreams = [...ofEnvironment, ...others.map((one) => asWritten(withVendor(one, vendors), vendors))];
  const taken = new Set(written.models.flatMap(({ id, aliases }) => [id, ...aliases]));
  const catalogueInDollars = withNewer(inDollars, written.catalogue);
  const builtIn = catalogueInDollars.map((model) => inUnits(model, cataloguePrices));
  const known = builtIn.filter(({ id }) => !taken.has(id));
  const models = [...written.models, ...known]
    .map((model) => servable(withTargets(model, upstreams), upstreams))
    .filter(({ targets }) => targets.length > 0);
  return Object.freeze({
    version,
    ...processConfig(written, settings),
    ...doorConfig(written),
    ...callConfig(written),
    port: portOf(written, settings),
    metrics: metricsOf(written.metrics, settings),
    unit,
    cataloguePrices,
    upstreams,
    models,
    catalogue: known,
    catalogueInDollars,
    embeddedModels: written.embedded_models ?? file === undefined,
  });
}

/** withNewer returns the models of the catalogue, those of gateway.yaml or of the stored document in the place of the built-in ones. */
function withNewer(builtIn: readonly ModelConfig[], newer: readonly ModelConfig[]): readonly ModelConfig[] {
  if (newer.length === 0) return builtIn;
  const replaced = new Set(newer.flatMap(({ id, aliases }) => [id, ...aliases]));
  return [...builtIn.filter(({ id }) => !replaced.has(id)), ...newer];
}

/** configFile returns the path of gateway.yaml: what is given, or GATEWAY_CONFIG; undefined for none. */
export function configFile(givenFile?: string, environment: Environment = processEnvironment()): string | undefined {
  return givenFile || environment.GATEWAY_CONFIG || undefined;
}

const emptyFile: FileConfig = { upstreams: [], models: [], catalogue: [] };

/** processConfig reads the settings of the process and its data. The environment takes precedence over the file. */
function processConfig(written: FileConfig, settings: EnvironmentSettings) {
  return {
    host: settings.host ?? written.host ?? "127.0.0.1",
    dataDir: settings.dataDir ?? written.data_dir ?? "./data",
    logLevel: settings.logLevel ?? written.log_level ?? "info",
    accelerators: settings.accelerators,
    memory: written.memory,
    workers: settings.workers ?? written.workers,
    database: databaseOf(written.database, settings),
    redis: redisOf(written.redis, settings.redisUrl),
    sealing: { key: settings.sealKey, keyFile: written.config_key_file },
    telemetry: settings.telemetry ?? written.telemetry,
    durability: written.durability ?? "process",
    retention: {
      requestsMs: daysMs(written.retention?.requests_days),
      auditMs: daysMs(written.retention?.audit_days),
      refusedMs: (written.retention?.refused_days ?? defaultRefusedDays) * dayMs,
    },
  };
}

/** doorConfig reads the settings of connections, bodies and callers. */
function doorConfig(written: FileConfig) {
  const maxBodyBytes = written.max_body_bytes ?? defaultMaxBodyBytes;
  return {
    maxBodyBytes,
    bodiesInFlight: bodiesInFlightOf(written.bodies_in_flight, maxBodyBytes),
    bodyTimeoutMs: (written.body_timeout_seconds ?? 60) * 1000,
    keepAliveMs: (written.keep_alive_seconds ?? 15) * 1000,
    idleMs: (written.idle_seconds ?? 65) * 1000,
    stalledReaderMs: (written.stalled_reader_seconds ?? 60) * 1000,
    maxConnections: written.max_connections,
    stopDelayMs: (written.stop_delay_seconds ?? 0) * 1000,
    drainMs: (written.drain_seconds ?? 30) * 1000,
    responsesSocket: {
      enabled: written.responses_socket?.enabled ?? true,
      idleMs: (written.responses_socket?.idle_seconds ?? 600) * 1000,
      maxBytes: written.responses_socket?.max_bytes ?? 256 * 1024 ** 2,
      maxBytesPerAccount: written.responses_socket?.max_bytes_per_account ?? 64 * 1024 ** 2,
    },
    docs: written.docs ?? true,
    publicUrls: written.public_urls ?? {},
    trustedProxies: written.trusted_proxies ?? [],
    corsOrigins: written.cors_origins ?? [],
    operatorKey: written.operator_key,
    failedCredentials: { perMinute: written.failed_credentials?.per_minute ?? 30 },
    registration: written.registration ?? "invitation",
    maxKeysPerAccount: written.max_keys_per_account ?? 5000,
  } as const;
}

/** callConfig reads the settings of calls. */
function callConfig(written: FileConfig) {
  return {
    disconnectDrainMs: (written.disconnect_drain_seconds ?? 5) * 1000,
    defaultModels: written.default_models ?? {},
    responses: {
      keepMs: (written.responses?.keep_hours ?? 24) * hourMs,
      maxPerAccount: written.responses?.max_per_account ?? 1000,
      maxBytes: written.responses?.max_bytes ?? 1024 * 1024,
    },
    backgroundResponses: {
      max: written.background_responses?.max ?? 1000,
      maxPerAccount: written.background_responses?.max_per_account ?? 100,
      maxBytes: written.background_responses?.max_bytes ?? 256 * 1024 ** 2,
      maxBytesPerAccount: written.background_responses?.max_bytes_per_account ?? 64 * 1024 ** 2,
    },
    tiers: written.tiers?.map(tierOf) ?? defaultTiers,
    unpriced: unpricedOf(written.unpriced_models),
    retries: { attempts: written.retries?.attempts ?? 3, share: written.retries?.share ?? 0.15 },
    breaker: { failures: written.breaker?.failures ?? 5, openMs: (written.breaker?.open_seconds ?? 5) * 1000 },
    hedging: written.hedging && { afterMs: written.hedging.after_seconds * 1000, share: written.hedging.share },
    cache: written.cache && cacheOf(written.cache),
  };
}

function unpricedOf(written: FileConfig["unpriced_models"] = "free_for_first_account"): Config["unpriced"] {
  if (typeof written === "object") return { isFreeForFirst: false, price: written.price };
  const price = written === "free" ? { input: 0, output: 0, characters: 0 } : undefined;
  return { isFreeForFirst: written === "free_for_first_account", price };
}

function bodiesInFlightOf(written: FileConfig["bodies_in_flight"], maxBodyBytes: number): Config["bodiesInFlight"] {
  const maxBytes = written?.max_bytes ?? Math.max(384 * 1024 * 1024, 4 * maxBodyBytes);
  return { maxBytes, maxBytesPerAccount: written?.max_bytes_per_account ?? Math.ceil(maxBytes / 4) };
}

function cacheOf({ max_bytes, seconds, price_share }: NonNullable<FileConfig["cache"]>): CacheConfig {
  return { maxBytes: max_bytes, keepMs: seconds * 1000, priceShare: price_share };
}

function databaseOf(written: FileConfig["database"], settings: EnvironmentSettings): Config["database"] {
  const url = settings.databaseUrl ?? written?.url;
  if (url === undefined) return undefined;
  const replicaUrl = settings.databaseReplicaUrl ?? written?.replica_url;
  const maxLagMs = (written?.replica_max_lag_seconds ?? 30) * 1000;
  const replica = replicaUrl === undefined ? undefined : { url: replicaUrl, maxLagMs };
  return { url, poolSize: written?.pool_size ?? 5, replica };
}

function redisOf(written: FileConfig["redis"], url = written?.url): Config["redis"] {
  if (url === undefined) return undefined;
  const { prefix = "model-gateway:", when_away = "divide", nodes = 1 } = written ?? {};
  const { cluster: isCluster = false, timeout_seconds = 0.05, connect_timeout_seconds = 2 } = written ?? {};
  const times = { timeoutMs: timeout_seconds * 1000, connectMs: connect_timeout_seconds * 1000 };
  return { url, isCluster, prefix, whenAway: when_away, assumedNodes: nodes, ...times };
}

function metricsOf(written: FileConfig["metrics"], settings: EnvironmentSettings): Config["metrics"] {
  const { metricsHost, metricsPort } = settings;
  if (metricsPort === "off" || (metricsPort === undefined && written?.enabled === false)) return undefined;
  const { host = "127.0.0.1", port = 9464 } = written ?? {};
  const isAsked = written !== undefined || metricsHost !== undefined || metricsPort !== undefined;
  return { host: metricsHost ?? host, port: metricsPort ?? port, isAsked };
}

function daysMs(days: number | undefined): number | undefined {
  return days === undefined ? undefined : days * dayMs;
}

function tierOf({ name, recharge, requests_per_minute, tokens_per_minute }: TierConfig): Tier {
  return { name, recharge, requestsPerMinute: requests_per_minute, tokensPerMinute: tokens_per_minute };
}

/** withTargets gives a model without targets the upstream named like its vendor, under the model's own id. */
function withTargets(model: ModelConfig, upstreams: readonly UpstreamConfig[]): ModelConfig {
  if (model.targets.length > 0 || !enabled(upstreams).some(({ name }) => name === model.vendor)) return model;
  return { ...model, targets: [targetAt(model.vendor as string, model.id)] };
}

/** enabled returns the upstreams that serve: all but those that are switched off. */
export function enabled(upstreams: readonly UpstreamConfig[]): readonly UpstreamConfig[] {
  return upstreams.filter(({ disabled }) => disabled !== true);
}

/**
 * servable returns the model without the targets that get no calls: those of weight 0, and those at an upstream that is switched off or
 * cannot serve its kind.
 */
export function servable(model: ModelConfig, upstreams: readonly UpstreamConfig[]): ModelConfig {
  const serves = (kind: UpstreamConfig["kind"]) => servedBy[kind].includes(model.kind);
  const names = new Set(
    enabled(upstreams)
      .filter(({ kind }) => serves(kind))
      .map(({ name }) => name),
  );
  return { ...model, targets: model.targets.filter(({ upstream, weight }) => weight > 0 && names.has(upstream)) };
}

/** targetAt returns a model's only target at an upstream. */
export function targetAt(upstream: string, model: string): ModelConfig["targets"][number] {
  return { upstream, model, priority: 0, weight: 1 };
}
