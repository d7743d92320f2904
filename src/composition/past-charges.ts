/** Prices calls that are written into the books as they were once made, as the furnished demo's. */
import type { CallUsage } from "../call/usage.ts";
import { cardId, cardJson, cardOf } from "../ledger/price-card.ts";
import { createPriceUsage, type PricedUsage } from "../pipeline/charge/price-usage.ts";
import type { Model } from "../targets/catalog.ts";

export interface PastCharges {
  /** Returns what a call of the model cost, as its row has it. A model without a price costs nothing. */
  charge(model: Model, usage: CallUsage): PricedUsage;
  /** The price cards of all calls so far, as JSON by their ids. They have to be kept before the calls are written. */
  readonly cards: ReadonlyMap<string, string>;
}

const ordinary = { tier: "", speed: "", region: "", searches: 0 };

export function createPastCharges(): PastCharges {
  const cards = new Map<string, string>();
  const priceUsage = createPriceUsage({
    of(price, chosen) {
      const card = cardOf(price, chosen);
      const json = cardJson(card);
      const id = cardId(json);
      cards.set(id, json);
      return { id, card, json, isKept: true };
    },
  });
  return {
    cards,
    charge({ price }, usage) {
      if (!price) return { cost: 0, price_id: null, price_parts: null };
      return priceUsage(price, usage, [{ used: usage, asked: ordinary, told: undefined }], false);
    },
  };
}
