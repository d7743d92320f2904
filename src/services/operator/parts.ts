/** What the operator's RPCs are made of: the stores, the configuration in force, and how the upstreams fare. */
import type { DescService } from "@bufbuild/protobuf";
import type { Tier } from "../../call/tiers.ts";
import type { Storage } from "../../storage/storage.ts";
import type { UpstreamState } from "./upstream-message.ts";

/** What the configuration sets and the operator is told of. */
export interface InForce {
  /** Lowest first. */
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
  readonly retention: { readonly requestsMs: number | undefined; readonly auditMs: number | undefined };
  /** Undefined where there is none. It is never told. */
  readonly operatorKey: string | undefined;
}

export interface OperatorParts {
  readonly storage: Storage;
  readonly config: InForce;
  /** Tells how the upstreams fare, in the configuration's order. */
  readonly upstreams: () => readonly UpstreamState[];
  /** All that is served. */
  readonly services: readonly DescService[];
  /** Milliseconds since 1970. */
  readonly clock: () => number;
}
