/** The dependencies of the operator's RPCs. */
import type { DescService } from "@bufbuild/protobuf";
import type { Tier } from "../../call/tiers.ts";
import type { StoredConfiguration } from "../../config/stored/stored-configuration.ts";
import type { Storage } from "../../storage/storage.ts";
import type { TestUpstream } from "../configuration/test-upstream.ts";
import type { KnownModels } from "./described-models.ts";
import type { UpstreamState } from "./upstream-message.ts";

/** LimitsConfig is the part of the configuration that DescribeLimits reports. */
export interface LimitsConfig {
  /** tiers are sorted, lowest first. */
  readonly tiers: readonly Tier[];
  readonly unit: { readonly code: string };
  readonly maxKeysPerAccount: number;
  readonly maxBodyBytes: number;
  readonly bodyTimeoutMs: number;
  readonly responses: { readonly keepMs: number; readonly maxPerAccount: number };
  readonly registration: string;
  readonly durability: string;
  readonly retries: { readonly attempts: number; readonly share: number };
  readonly breaker: { readonly failures: number; readonly openMs: number };
  readonly hedging: { readonly afterMs: number; readonly share: number } | undefined;
  readonly cache: { readonly maxBytes: number; readonly keepMs: number; readonly priceShare: number } | undefined;
  readonly retention: {
    readonly requestsMs: number | undefined;
    readonly auditMs: number | undefined;
    readonly refusedMs: number | undefined;
  };
  /** operatorKey is undefined if none is configured. It is never reported, only whether it exists. */
  readonly operatorKey: string | undefined;
}

export interface OperatorParts {
  readonly storage: Storage;
  /** settings returns the configuration in force. */
  readonly settings: () => LimitsConfig;
  /** upstreams returns the upstreams' state, in the configuration's order. */
  readonly upstreams: () => readonly UpstreamState[];
  /** models returns all models, as they are at the moment. Unset: this process serves none. */
  readonly models?: () => KnownModels;
  readonly stored: StoredConfiguration;
  /** testUpstream tries an upstream. Unset: this process asks none. */
  readonly testUpstream?: TestUpstream | undefined;
  /** services are all services that the gateway serves. */
  readonly services: readonly DescService[];
  /** clock returns milliseconds since 1970. */
  readonly clock: () => number;
}
