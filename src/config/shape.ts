/** Config is the configuration after everything has been read. */

import type { Tier } from "../call/tiers.ts";
import type { CataloguePrices } from "./catalogue/currency.ts";
import type { ModelConfig, PriceConfig, UpstreamConfig } from "./schema-models.ts";

/**
 * acceleratorNames are the accelerators: faster implementations of a contract. The gateway works without any of them.
 */
export const acceleratorNames = [
  "http1-server",
  "http1-client",
  "known-heads",
  "grpc",
  "quick-check",
  "leases",
  "journal",
  "delta-template",
] as const;

export type AcceleratorName = (typeof acceleratorNames)[number];

export interface Config {
  /** version is the version of what is stored that is in it; 0: nothing is. */
  readonly version: number;
  readonly host: string;
  readonly port: number;
  readonly dataDir: string;
  readonly logLevel: string;
  readonly accelerators: ReadonlySet<AcceleratorName>;
  /** memory is how much the gateway may take to be fast; undefined: what suits the machine. */
  readonly memory: "small" | "large" | undefined;
  /** workers is how many processes serve, auto for one a core; undefined: the process that is started serves by itself. */
  readonly workers: number | "auto" | undefined;
  readonly maxBodyBytes: number;
  readonly bodyTimeoutMs: number;
  /** bodiesInFlight is the most memory for request bodies at a time, in total and for each account. */
  readonly bodiesInFlight: { readonly maxBytes: number; readonly maxBytesPerAccount: number };
  readonly keepAliveMs: number;
  /** idleMs is how long a client may keep an idle connection open. */
  readonly idleMs: number;
  /** stalledReaderMs is how long a client may leave all bytes of its answer unread. */
  readonly stalledReaderMs: number;
  /** maxConnections is the most client connections; undefined: nearly as many as the process may open files. */
  readonly maxConnections: number | undefined;
  /** stopDelayMs is how long calls are still accepted after the gateway was asked to stop. */
  readonly stopDelayMs: number;
  readonly drainMs: number;
  /** disconnectDrainMs is how long a stream's upstream is read on for its usage after the caller disconnects. */
  readonly disconnectDrainMs: number;
  /** embeddedModels is whether the embedded models are served. */
  readonly embeddedModels: boolean;
  /** docs is whether the documentation is served at `/docs`. */
  readonly docs: boolean;
  /** defaultModels are used when a request names no model and need not. */
  readonly defaultModels: { readonly completion?: string | undefined; readonly embedding?: string | undefined };
  /** publicUrls are the gateway's public base URLs, if configured. */
  readonly publicUrls: { readonly [name in "root" | "direct" | "cdn" | "cn"]?: string | undefined };
  /** trustedProxies are the addresses whose `X-Forwarded-*` headers are trusted. */
  readonly trustedProxies: readonly string[];
  /** corsOrigins are the web origins that may call the gateway; `*` is any. */
  readonly corsOrigins: readonly string[];
  /** responses are the lifetime, the number for each account, and the size of stored answers of `/v1/responses`. */
  readonly responses: { readonly keepMs: number; readonly maxPerAccount: number; readonly maxBytes: number };
  /** responsesSocket controls responses over a WebSocket, and what connections may remember. */
  readonly responsesSocket: {
    readonly enabled: boolean;
    readonly idleMs: number;
    readonly maxBytes: number;
    readonly maxBytesPerAccount: number;
  };
  /** backgroundResponses limits concurrent background responses, and the bytes of their requests and events. */
  readonly backgroundResponses: {
    readonly max: number;
    readonly maxPerAccount: number;
    readonly maxBytes: number;
    readonly maxBytesPerAccount: number;
  };
  /** tiers are sorted, lowest first. */
  readonly tiers: readonly Tier[];
  /** unit is the unit of money. */
  readonly unit: { readonly code: string; readonly symbol: string };
  readonly cataloguePrices: CataloguePrices;
  readonly unpriced: UnpricedConfig;
  /** durability is what committed data survives: the death of the process, or also a loss of power. */
  readonly durability: "process" | "power";
  /** operatorKey is the operator's credential; undefined: none over the network. */
  readonly operatorKey: string | undefined;
  /** failedCredentials is how many failed credentials an address may send at once, and regains in a minute. */
  readonly failedCredentials: { readonly perMinute: number };
  /** retries are the most attempts of a call, and the retries allowed for each call to a target. */
  readonly retries: { readonly attempts: number; readonly share: number };
  /** breaker is the consecutive failures that open a target's breaker, and how long it stays open. */
  readonly breaker: { readonly failures: number; readonly openMs: number };
  /**
   * hedging is the wait before a second attempt of a call that is not streamed, and the share of such calls that may
   * be hedged.
   */
  readonly hedging: { readonly afterMs: number; readonly share: number } | undefined;
  /** cache keeps answers for the same request of the same account; undefined: none. */
  readonly cache: CacheConfig | undefined;
  /** metrics is the listener for metrics; undefined: none. `isAsked` is whether the address was configured. */
  readonly metrics: { readonly host: string; readonly port: number; readonly isAsked: boolean } | undefined;
  /** database is the Postgres that keeps the data; undefined: SQLite in dataDir. */
  readonly database: DatabaseConfig | undefined;
  /**
   * sealing is what secrets of the stored configuration are sealed by: keys, or else the path of a file with them, or else a file in
   * dataDir that is made when it is needed; with Postgres there is none then.
   */
  readonly sealing: { readonly key: string | undefined; readonly keyFile: string | undefined };
  /** redis is where rates are shared with other gateways; undefined: each counts for itself. */
  readonly redis: RedisConfig | undefined;
  /** telemetry is the OTLP endpoint for traces and metrics; undefined: none. */
  readonly telemetry: { readonly endpoint: string; readonly headers: Readonly<Record<string, string>> } | undefined;
  /** retention is how long calls, audit events and refused calls are kept; undefined: for good. */
  readonly retention: {
    readonly requestsMs: number | undefined;
    readonly auditMs: number | undefined;
    readonly refusedMs: number;
  };
  /** registration is who may register in the dashboard. */
  readonly registration: "open" | "invitation" | "closed";
  readonly maxKeysPerAccount: number;
  readonly upstreams: readonly UpstreamConfig[];
  /** models are all models with at least one target, once all files have been read. */
  readonly models: readonly ModelConfig[];
  /** catalogue are the built-in models that the file does not replace, served or not. */
  readonly catalogue: readonly ModelConfig[];
  /** catalogueInDollars are all models of the catalogue, with their vendors' prices in US dollars. */
  readonly catalogueInDollars: readonly ModelConfig[];
}

/**
 * operationalKeys are the members that may change while the gateway serves, and their keys of gateway.yaml. All others are bound to the
 * process, and are taken from the file at its start.
 */
export const operationalKeys = {
  upstreams: "upstreams",
  models: "models",
  catalogue: "catalogue",
  catalogueInDollars: "catalogue",
  embeddedModels: "embedded_models",
  defaultModels: "default_models",
  cataloguePrices: "catalogue_prices",
  unpriced: "unpriced_models",
  tiers: "tiers",
  registration: "registration",
  maxKeysPerAccount: "max_keys_per_account",
  failedCredentials: "failed_credentials",
  cache: "cache",
  hedging: "hedging",
  retries: "retries",
  breaker: "breaker",
  retention: "retention",
  responses: "responses",
  disconnectDrainMs: "disconnect_drain_seconds",
  publicUrls: "public_urls",
} as const satisfies { readonly [member in keyof Config]?: string };

export type OperationalMember = keyof typeof operationalKeys;
export type ProcessMember = Exclude<keyof Config, OperationalMember | "version">;
/** ProcessConfig is what holds from the start of a process to its end. */
export type ProcessConfig = Omit<Config, OperationalMember | "version">;

/** processKeys are the keys of gateway.yaml, or the variables, of the members that are bound to the process. */
export const processKeys: Readonly<Record<ProcessMember, string>> = {
  host: "host",
  port: "port",
  dataDir: "data_dir",
  logLevel: "log_level",
  accelerators: "ACCELERATORS",
  memory: "memory",
  workers: "workers",
  maxBodyBytes: "max_body_bytes",
  bodyTimeoutMs: "body_timeout_seconds",
  bodiesInFlight: "bodies_in_flight",
  keepAliveMs: "keep_alive_seconds",
  idleMs: "idle_seconds",
  stalledReaderMs: "stalled_reader_seconds",
  maxConnections: "max_connections",
  stopDelayMs: "stop_delay_seconds",
  drainMs: "drain_seconds",
  docs: "docs",
  trustedProxies: "trusted_proxies",
  corsOrigins: "cors_origins",
  responsesSocket: "responses_socket",
  backgroundResponses: "background_responses",
  unit: "unit",
  durability: "durability",
  operatorKey: "operator_key",
  metrics: "metrics",
  database: "database",
  redis: "redis",
  telemetry: "telemetry",
  sealing: "config_key_file",
};

/** UnpricedConfig is the rule for models without a price. Postpaid accounts may always call them, and pay nothing. */
export interface UnpricedConfig {
  /** isFreeForFirst is whether the operator's own first account may call them for free. */
  readonly isFreeForFirst: boolean;
  /** price is the price of such models; undefined: none. */
  readonly price: PriceConfig | undefined;
}

export interface DatabaseConfig {
  /** url may hold a password: it is printed nowhere. */
  readonly url: string;
  /** poolSize is how many connections management shares. */
  readonly poolSize: number;
  /** replica is a replica that usage is read from, as long as it is not further behind; undefined: none. */
  readonly replica: { readonly url: string; readonly maxLagMs: number } | undefined;
}

export interface RedisConfig {
  /** url may hold a password: it is printed nowhere. */
  readonly url: string;
  /** isCluster is whether url is the address of a cluster's node. */
  readonly isCluster: boolean;
  readonly prefix: string;
  readonly whenAway: "divide" | "refuse";
  /** assumedNodes is how many nodes share the rates, until Redis has told. */
  readonly assumedNodes: number;
  readonly timeoutMs: number;
  readonly connectMs: number;
}

export interface CacheConfig {
  readonly maxBytes: number;
  /** keepMs is the longest lifetime of a cached answer. */
  readonly keepMs: number;
  /** priceShare is the share of the original cost that a cached answer costs, 0 to 1. */
  readonly priceShare: number;
}
