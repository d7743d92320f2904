/** The tiers of a form, and the list of the configuration that they are. */
import type { Tier } from "../../../../gen/modelgateway/v1/accounts_pb.ts";
import { type JsonObject, numberOf, objectsAt, textAt, withValues } from "../../configuration/document.ts";
import { readAmount, writeAmount } from "../../parts/amount.ts";

export interface TierValues {
  /** key tells it apart while others are removed. */
  readonly key: number;
  readonly name: string;
  readonly recharge: string;
  readonly requestsPerMinute: string;
  readonly tokensPerMinute: string;
}

/** tierValuesOf reads the tiers of a document; where it has none, those in force by default. */
export function tierValuesOf(document: JsonObject | undefined, inForce: readonly Tier[]): readonly TierValues[] {
  const written = objectsAt(document, "tiers");
  if (written.length > 0) {
    return written.map((tier, key) => ({
      key,
      name: textAt(tier, "name"),
      recharge: textAt(tier, "recharge"),
      requestsPerMinute: textAt(tier, "requests_per_minute"),
      tokensPerMinute: textAt(tier, "tokens_per_minute"),
    }));
  }
  return inForce.map(({ name, recharge, requestsPerMinute, tokensPerMinute }, key) => ({
    key,
    name,
    recharge: writeAmount(recharge),
    requestsPerMinute: String(requestsPerMinute),
    tokensPerMinute: tokensPerMinute === undefined ? "" : String(tokensPerMinute),
  }));
}

/** tierEntries returns the list in the order of what has to be recharged; a tier whose amount is none stays where it is. */
export function tierEntries(tiers: readonly TierValues[]): JsonObject[] {
  return sorted(tiers).map(({ name, recharge, requestsPerMinute, tokensPerMinute }) =>
    withValues(
      {},
      {
        name: name.trim(),
        recharge: recharge.trim() || "0",
        requests_per_minute: numberOf(requestsPerMinute),
        tokens_per_minute: numberOf(tokensPerMinute),
      },
    ),
  );
}

export function sorted(tiers: readonly TierValues[]): readonly TierValues[] {
  const amounts = new Map(tiers.map((tier) => [tier, readAmount(tier.recharge.trim() || "0")]));
  if ([...amounts.values()].some((amount) => amount === undefined)) return tiers;
  return [...tiers].sort((one, other) => ((amounts.get(one) ?? 0n) < (amounts.get(other) ?? 0n) ? -1 : 1));
}
