/** Parses the limits, addresses, tags and owner of a key as a request states them, and writes them as messages have them. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  ApiKeySchema,
  CreateKeyRequest,
  ModelRate,
  UpdateKeyRequest,
} from "../../../gen/modelgateway/v1/keys_pb.ts";
import { isAddressOrNetwork, unmapped } from "../../call/address-list.ts";
import { invalidValue } from "../../call/refusals.ts";
import { modelRatesOf } from "../../pipeline/admit/key-limits.ts";
import { type ApiKey, type KeyLimitColumn, type KeyModelRate, listIn } from "../../storage/keys.ts";
import type { Catalog } from "../../targets/catalog.ts";
import { refuseUnknown } from "../unknown-fields.ts";
import { permittedName } from "./key-permissions.ts";

type LimitFields =
  | "requestsPerMinute"
  | "tokensPerMinute"
  | "modelRates"
  | "maxConcurrent"
  | "allowedIps"
  | "tags"
  | "owner";

export { modelRatesOf };

/** KeyLimitRequest is what of a request is about limits. */
export type KeyLimitRequest = Pick<CreateKeyRequest | UpdateKeyRequest, LimitFields>;

/** KeyLimitChange has null for what is cleared, and undefined for what the request omits. */
export type KeyLimitChange = { readonly [column in KeyLimitColumn]?: ApiKey[column] | undefined };

/** readLimits returns the limits as stored. Throws a Refusal. */
export function readLimits(request: KeyLimitRequest, catalog: Catalog): KeyLimitChange {
  const { requestsPerMinute, tokensPerMinute, modelRates, maxConcurrent, allowedIps, tags, owner } = request;
  return {
    requests_per_minute: requestsPerMinute && (requestsPerMinute.limit ?? null),
    tokens_per_minute: tokensPerMinute && (tokensPerMinute.limit ?? null),
    model_rates: modelRates && readModelRates(modelRates.rates, catalog),
    max_concurrent: maxConcurrent && (maxConcurrent.limit ?? null),
    allowed_ips: allowedIps && readAddresses(allowedIps.addresses),
    tags: tags && listOrNull([...new Set(tags.tags.map((tag) => tag.trim()))]),
    owner: owner && (owner.name?.trim() || null),
  };
}

function readModelRates(rates: readonly ModelRate[], catalog: Catalog): string | null {
  const entries = rates.map((rate, i) => readModelRate(rate, `model_rates[${i}]`, catalog));
  for (const [i, { model }] of entries.entries())
    if (entries.findIndex((other) => other.model === model) < i)
      throw invalidValue(`model_rates[${i}].model`, `\`${model}\` has a rate already; give it one entry`);
  return listOrNull(entries);
}

function readModelRate(
  { model = "", requestsPerMinute, tokensPerMinute, extra }: ModelRate,
  param: string,
  catalog: Catalog,
): KeyModelRate {
  refuseUnknown(extra, ["requests_per_minute", "tokens_per_minute"], param);
  if (requestsPerMinute === undefined && tokensPerMinute === undefined)
    throw invalidValue(param, "expected `requests_per_minute`, `tokens_per_minute` or both");
  const rates = { requests: requestsPerMinute, tokens: tokensPerMinute };
  return { model: permittedName(model, `${param}.model`, catalog), ...rates };
}

function readAddresses(entries: readonly string[]): string | null {
  const addresses = entries.map((entry, i) => {
    const address = entry.trim().toLowerCase();
    if (isAddressOrNetwork(address)) return unmapped(address);
    throw invalidValue(`allowed_ips[${i}]`, "expected an address or a network, as `192.0.2.7` or `2001:db8::/32`");
  });
  return listOrNull([...new Set(addresses)]);
}

function listOrNull(list: readonly unknown[]): string | null {
  return list.length === 0 ? null : JSON.stringify(list);
}

/** limitFields returns the fields of a key's message that tell its limits. */
export function limitFields(key: ApiKey): MessageInitShape<typeof ApiKeySchema> {
  const { requests_per_minute, tokens_per_minute, max_concurrent, owner } = key;
  return {
    ...(requests_per_minute === null ? {} : { requestsPerMinute: requests_per_minute }),
    ...(tokens_per_minute === null ? {} : { tokensPerMinute: tokens_per_minute }),
    modelRates: modelRatesOf(key).map(({ model, requests, tokens }) => ({
      model,
      ...(requests === undefined ? {} : { requestsPerMinute: requests }),
      ...(tokens === undefined ? {} : { tokensPerMinute: tokens }),
    })),
    ...(max_concurrent === null ? {} : { maxConcurrent: max_concurrent }),
    allowedIps: listIn(key.allowed_ips),
    tags: listIn(key.tags),
    ...(owner === null ? {} : { owner }),
  };
}
