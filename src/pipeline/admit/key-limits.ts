/** Reads what a stored key has of limits, in the form that calls go by. A key is read once, and has thousands of calls. */
import type { KeyLimits } from "../../call/key-limits.ts";
import type { ApiKey, KeyModelRate } from "../../storage/keys.ts";

/** limitsOf returns undefined for a key without limits: its calls go through nothing more than before. */
export function limitsOf(key: ApiKey): KeyLimits | undefined {
  const { requests_per_minute, tokens_per_minute, model_rates, max_concurrent } = key;
  if ([requests_per_minute, tokens_per_minute, model_rates, max_concurrent].every((limit) => limit === null)) return;
  return {
    requestsPerMinute: requests_per_minute ?? undefined,
    tokensPerMinute: tokens_per_minute ?? undefined,
    models: modelRatesOf(key).map(({ model, requests, tokens }) => ({
      model,
      requestsPerMinute: requests,
      tokensPerMinute: tokens,
    })),
    maxConcurrent: max_concurrent ?? undefined,
  };
}

/** modelRatesOf returns the rates for single models of a stored key; none where it has none. */
export function modelRatesOf({ model_rates }: Pick<ApiKey, "model_rates">): readonly KeyModelRate[] {
  return model_rates === null ? [] : (JSON.parse(model_rates) as KeyModelRate[]);
}

/** allowedIpsOf returns the addresses and networks that a key may be used from; undefined where it may be used from all. */
export function allowedIpsOf({ allowed_ips }: ApiKey): readonly string[] | undefined {
  return allowed_ips === null ? undefined : (JSON.parse(allowed_ips) as string[]);
}
