/** What the configuration says, once all of it has been read. */

import type { Tier } from "../call/tiers.ts";
import type { CataloguePrices } from "./currency.ts";
import type { ModelConfig, PriceConfig, UpstreamConfig } from "./schema-models.ts";

/** The accelerators by name: faster implementations of a contract, without each of which the gateway works as well. */
export const acceleratorNames = [
  "http1-server",
  "http1-client",
  "known-heads",
  "grpc",
  "quick-check",
  "leases",
  "delta-template",
] as const;

export type AcceleratorName = (typeof acceleratorNames)[number];

export interface Config {
  readonly host: string;
  readonly port: number;
  readonly dataDir: string;
  readonly logLevel: string;
  readonly accelerators: ReadonlySet<AcceleratorName>;
  readonly maxBodyBytes: number;
  readonly bodyTimeoutMs: number;
  /** The most bytes of requests' bodies that are held at a time, in all and of one account. */
  readonly bodiesInFlight: { readonly maxBytes: number; readonly maxBytesPerAccount: number };
  readonly keepAliveMs: number;
  /** How long a client may keep a connection on which nothing runs. */
  readonly idleMs: number;
  /** How long a client may leave bytes of its answer unread, all of them. */
  readonly stalledReaderMs: number;
  /** The most connections of clients; undefined: as many as the process may have files open, but for some. */
  readonly maxConnections: number | undefined;
  readonly drainMs: number;
  /** How long an upstream is read on to its usage once the caller of a stream has left. */
  readonly disconnectDrainMs: number;
  /** Whether the embedded simulators are served. */
  readonly embeddedModels: boolean;
  /** What is meant where a request names no model and need not. */
  readonly defaultModels: { readonly completion?: string | undefined; readonly embedding?: string | undefined };
  /** The addresses under which the gateway is reached, where the operator names them. */
  readonly publicUrls: { readonly [name in "root" | "direct" | "cdn" | "cn"]?: string | undefined };
  /** Whose `X-Forwarded-*` headers are believed. */
  readonly trustedProxies: readonly string[];
  /** From which web pages the gateway may be called; `*` is any. */
  readonly corsOrigins: readonly string[];
  /** How long answers of `/v1/responses` are kept, how many an account has, and how large one may be. */
  readonly responses: { readonly keepMs: number; readonly maxPerAccount: number; readonly maxBytes: number };
  /** Whether responses are served over a WebSocket, and what connections may remember of them. */
  readonly responsesSocket: {
    readonly enabled: boolean;
    readonly idleMs: number;
    readonly maxBytes: number;
    readonly maxBytesPerAccount: number;
  };
  /** How many responses are made in the background at a time, and how many bytes of their requests and events are held. */
  readonly backgroundResponses: {
    readonly max: number;
    readonly maxPerAccount: number;
    readonly maxBytes: number;
    readonly maxBytesPerAccount: number;
  };
  /** Lowest first. */
  readonly tiers: readonly Tier[];
  /** What money is counted in. */
  readonly unit: { readonly code: string; readonly symbol: string };
  readonly cataloguePrices: CataloguePrices;
  readonly unpriced: UnpricedConfig;
  /** How much of what was committed survives: the death of the process, or also a loss of power. */
  readonly durability: "process" | "power";
  /** The operator's credential; without one there is no operator over the network. */
  readonly operatorKey: string | undefined;
  /** How many credentials may fail from an address at once, and come back in a minute. */
  readonly failedCredentials: { readonly perMinute: number };
  /** How many attempts a call makes at most, and which part of what a target is sent may be retries. */
  readonly retries: { readonly attempts: number; readonly share: number };
  /** After how many failures in a row a target is left alone, and for how long. */
  readonly breaker: { readonly failures: number; readonly openMs: number };
  /** Calls that are not streamed are made once more where no answer came after so long: this part of them at most. */
  readonly hedging: { readonly afterMs: number; readonly share: number } | undefined;
  /** Answers are kept for the same request of the same account; undefined: none is. */
  readonly cache: CacheConfig | undefined;
  /** Where metrics are read; undefined: nowhere. `isAsked` says that somebody asked for the address. */
  readonly metrics: { readonly host: string; readonly port: number; readonly isAsked: boolean } | undefined;
  /** Where traces and metrics are sent by OTLP over HTTP; undefined: nowhere. */
  readonly telemetry: { readonly endpoint: string; readonly headers: Readonly<Record<string, string>> } | undefined;
  /** For how long calls and acts are kept one by one; undefined: for good. */
  readonly retention: { readonly requestsMs: number | undefined; readonly auditMs: number | undefined };
  /** Who may register in the dashboard. */
  readonly registration: "open" | "invitation" | "closed";
  readonly maxKeysPerAccount: number;
  readonly upstreams: readonly UpstreamConfig[];
  /** Every model with at least one target, by the time all files have been read. */
  readonly models: readonly ModelConfig[];
  /** The built-in models that the file does not replace, served or not, as the catalogue has them. */
  readonly catalogue: readonly ModelConfig[];
}

/** The rule for models without a price. Accounts that pay afterwards may always call them, and pay nothing. */
export interface UnpricedConfig {
  /** Whether the operator's own first account may make them, and pays nothing. */
  readonly isFreeForFirst: boolean;
  /** The price that such models have; undefined: none. */
  readonly price: PriceConfig | undefined;
}

export interface CacheConfig {
  readonly maxBytes: number;
  /** How long an answer is kept at most. */
  readonly keepMs: number;
  /** Which part of its cost at first an answer costs that was kept, 0 to 1. */
  readonly priceShare: number;
}
