/** Writes models as gateway.yaml has them: amounts as decimals in quotes, and nothing that is so by default. */
import { formatDecimal } from "../../runtime/decimal.ts";
import type { ModelConfig, PriceConfig } from "../schema-models.ts";
import { type Json, type JsonValue, plainJson } from "../stored/documents.ts";

/** modelAsWritten returns a model as an entry of `models`. */
export function modelAsWritten(model: ModelConfig): Json {
  const { price, aliases, targets, ...rest } = model;
  return plainJson({
    ...rest,
    ...(aliases.length > 0 && { aliases }),
    ...(price && { price: priceAsWritten(price) }),
    ...(targets.length > 0 && { targets }),
  });
}

/** priceAsWritten returns a price with its amounts as decimals. Bounds of bands are tokens, and stay numbers. */
function priceAsWritten(price: PriceConfig): Json {
  return amounts(plainJson(price)) as Json;
}

function amounts(value: JsonValue, key = ""): JsonValue {
  if (typeof value === "number") return key === "above" ? value : formatDecimal(value);
  if (Array.isArray(value)) return (value as readonly JsonValue[]).map((one) => amounts(one));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, amounts(one as JsonValue, name)]));
}
