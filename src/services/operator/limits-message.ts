/** Builds the API message of the configured limits. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { DescribeLimitsResponseSchema, RpcRateSchema } from "../../../gen/modelgateway/v1/operator_pb.ts";
import { dayMs, hourMs } from "../../runtime/time/durations.ts";
import { tierMessage } from "../accounts/account-message.ts";
import type { LimitsConfig } from "./parts.ts";

export function limitsMessage(
  config: LimitsConfig,
  rpcRates: MessageInitShape<typeof RpcRateSchema>[],
): MessageInitShape<typeof DescribeLimitsResponseSchema> {
  const { tiers, unit, responses } = config;
  return {
    tiers: tiers.map(tierMessage),
    unit: unit.code,
    maxKeysPerAccount: config.maxKeysPerAccount,
    registration: config.registration,
    durability: config.durability,
    rpcRates,
    maxBodyBytes: BigInt(config.maxBodyBytes),
    bodyTimeoutSeconds: config.bodyTimeoutMs / 1000,
    responsesKeepHours: responses.keepMs / hourMs,
    responsesMaxPerAccount: responses.maxPerAccount,
    operatorKey: config.operatorKey !== undefined,
    ...failoverLimits(config),
    ...retentionLimits(config),
  };
}

function failoverLimits({ retries, breaker, hedging }: LimitsConfig) {
  return {
    attempts: retries.attempts,
    retryShare: retries.share,
    // A larger number than the message can hold means "never" in practice.
    breakerFailures: Math.min(breaker.failures, 0xffff_ffff),
    breakerOpenSeconds: breaker.openMs / 1000,
    ...(hedging ? { hedgeAfterSeconds: hedging.afterMs / 1000, hedgeShare: hedging.share } : {}),
  };
}

function retentionLimits({ cache, retention: { requestsMs, auditMs, refusedMs } }: LimitsConfig) {
  return {
    ...(cache ? cacheLimits(cache) : {}),
    ...(requestsMs === undefined ? {} : { requestsKeepDays: requestsMs / dayMs }),
    ...(auditMs === undefined ? {} : { auditKeepDays: auditMs / dayMs }),
    ...(refusedMs === undefined ? {} : { refusedKeepDays: refusedMs / dayMs }),
  };
}

function cacheLimits({ maxBytes, keepMs, priceShare }: NonNullable<LimitsConfig["cache"]>) {
  return { cacheMaxBytes: BigInt(maxBytes), cacheSeconds: keepMs / 1000, cachePriceShare: priceShare };
}
