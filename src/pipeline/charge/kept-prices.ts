/**
 * KeptPrices names the prices that calls are charged by, and has each of them kept in the database once, so that any call can be priced
 * again. Naming a price asks nobody: its id follows from its content. Until it is kept, a call carries it in its own row.
 */
import type { Price, Rates } from "../../call/price.ts";
import { type ChosenRates, cardId, cardJson, cardOf, type PriceCard } from "../../ledger/price-card.ts";

/** KeptPrice is a price card with its id. */
export interface KeptPrice {
  readonly id: string;
  readonly card: PriceCard;
  readonly json: string;
  /** isKept is whether the database has it, for good. */
  isKept: boolean;
}

export interface KeptPrices {
  /** Returns a card by the price that it is part of, and by what was chosen of it. The first call has it kept, in a moment. */
  of(price: Price, chosen: ChosenRates): KeptPrice;
}

export interface KeptPricesOptions {
  /** Writes a card that may be there already. */
  readonly keep: (id: string, json: string) => Promise<void>;
  /** Called with errors that no caller waits for. */
  readonly onError: (error: unknown) => void;
}

/**
 * pauseMs is how long a price that could not be kept is left alone: each try may wait for another process's lock, and others wait for it.
 */
const pauseMs = 60_000;

export function createKeptPrices({ keep, onError }: KeptPricesOptions): KeptPrices {
  const byId = new Map<string, KeptPrice>();
  /** The rates of models and of their bands and modes are the same objects for as long as the model is served. */
  const byRates = new WeakMap<
    Rates,
    { readonly factor: number; readonly mode: string | undefined; readonly kept: KeptPrice }
  >();
  const inFlight = new Set<string>();
  /** retriesAt is when those that could not be kept are tried again, by `performance.now()`. */
  const retriesAt = new Map<string, number>();

  function ofCard(card: PriceCard): KeptPrice {
    const json = cardJson(card);
    const id = cardId(json);
    const known = byId.get(id) ?? { id, card, json, isKept: false };
    byId.set(id, known);
    return known;
  }

  async function keepNow(price: KeptPrice): Promise<void> {
    inFlight.add(price.id);
    try {
      await keep(price.id, price.json);
      price.isKept = true;
    } catch (error) {
      retriesAt.set(price.id, performance.now() + pauseMs);
      onError(error);
    } finally {
      inFlight.delete(price.id);
    }
  }

  return {
    of(price, chosen) {
      const { rates, factor, mode } = chosen;
      const last = byRates.get(rates);
      const isLast = last !== undefined && last.factor === factor && last.mode === mode;
      const kept = isLast ? last.kept : ofCard(cardOf(price, chosen));
      if (!isLast) byRates.set(rates, { factor, mode, kept });
      if (!kept.isKept && !inFlight.has(kept.id) && performance.now() >= (retriesAt.get(kept.id) ?? 0))
        void keepNow(kept);
      return kept;
    },
  };
}
