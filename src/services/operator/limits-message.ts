/** What is in force by the configuration, as a message. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { DescribeLimitsResponseSchema, RpcRateSchema } from "../../../gen/modelgateway/v1/operator_pb.ts";
import { tierMessage } from "../accounts/account-message.ts";
import type { InForce } from "./parts.ts";

export function limitsMessage(
  config: InForce,
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
    responsesKeepHours: responses.keepMs / 3_600_000,
    responsesMaxPerAccount: responses.maxPerAccount,
    operatorKey: config.operatorKey !== undefined,
    ...failingOver(config),
    ...kept(config),
  };
}

function failingOver({ retries, breaker, hedging }: InForce) {
  return {
    attempts: retries.attempts,
    retryShare: retries.share,
    // What the message cannot count is as good as never.
    breakerFailures: Math.min(breaker.failures, 0xffff_ffff),
    breakerOpenSeconds: breaker.openMs / 1000,
    ...(hedging ? { hedgeAfterSeconds: hedging.afterMs / 1000, hedgeShare: hedging.share } : {}),
  };
}

function kept({ cache, retention: { requestsMs, auditMs } }: InForce) {
  return {
    ...(cache ? cached(cache) : {}),
    ...(requestsMs === undefined ? {} : { requestsKeepDays: requestsMs / dayMs }),
    ...(auditMs === undefined ? {} : { auditKeepDays: auditMs / dayMs }),
  };
}

function cached({ maxBytes, keepMs, priceShare }: NonNullable<InForce["cache"]>) {
  return { cacheMaxBytes: BigInt(maxBytes), cacheSeconds: keepMs / 1000, cachePriceShare: priceShare };
}

const dayMs = 86_400_000;
