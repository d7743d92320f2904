/** Reads what a stored key has of limits, in the form that calls go by. A key is read once, and has thousands of calls. */
import { type AddressList, addressList } from "../../call/address-list.ts";
import type { KeyLimits } from "../../call/key-limits.ts";
import type { ApiKey, KeyModelRate } from "../../storage/keys.ts";

/** Returns undefined for a key without limits: its calls go through nothing more than before. */
export function limitsOf(key: ApiKey): KeyLimits | undefined {
  const { requests_per_minute, tokens_per_minute, model_rates, max_concurrent } = key;
  if ([requests_per_minute, tokens_per_minute, model_rates, max_concurrent].every((limit) => limit === null)) return;
  const rates = model_rates === null ? [] : (JSON.parse(model_rates) as readonly KeyModelRate[]);
  return {
    requestsPerMinute: requests_per_minute ?? undefined,
    tokensPerMinute: tokens_per_minute ?? undefined,
    models: rates.map(({ model, requests, tokens }) => ({
      model,
      requestsPerMinute: requests,
      tokensPerMinute: tokens,
    })),
    maxConcurrent: max_concurrent ?? undefined,
  };
}

/** Returns the addresses that a key may be used from; undefined where it may be used from all. */
export function allowedOf({ allowed_ips }: ApiKey): AddressList | undefined {
  return allowed_ips === null ? undefined : addressList(JSON.parse(allowed_ips) as string[]);
}
