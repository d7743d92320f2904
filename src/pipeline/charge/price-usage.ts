/** Prices what a call used, and says by which price: so that its row can be priced again (`ledger/reprice.ts`). */
import type { Price } from "../../call/price.ts";
import { addUsage, type CallUsage, keptTokens } from "../../call/usage.ts";
import { type ChargedUsage, costOf, costOfAll } from "../../ledger/price.ts";
import { oneFactor } from "../../ledger/price-card.ts";
import { chargedRates, isPlain } from "../../ledger/rates.ts";
import type { WrittenPart } from "../../ledger/reprice.ts";
import type { KeptPrice, KeptPrices } from "./kept-prices.ts";
import type { MeasuredRequest } from "./meter.ts";

/** PricedUsage is members of a call's row. */
export interface PricedUsage {
  readonly cost: number;
  readonly price_id: string | null;
  readonly price_parts: string | null;
}

export type PriceUsage = (
  price: Price,
  usage: CallUsage,
  requests: readonly MeasuredRequest[],
  isRegional: boolean,
) => PricedUsage;

/** unpriced is the charge of calls that cost nothing whatever they used. */
export const unpriced: PricedUsage = { cost: 0, price_id: null, price_parts: null };

/** createPriceUsage returns what prices the usage of a call. Each request to an upstream is priced by the rates that it was served at. */
export function createPriceUsage(keptPrices: KeptPrices): PriceUsage {
  return (price, usage, requests, isRegional) => {
    if (isPlain(price)) return ofPlain(keptPrices.of(price, { rates: price, factor: oneFactor }), usage);
    const [first, ...others] = requests;
    if (!first) return unpriced;
    // Speech is charged by its input, and is always one request.
    const all = [{ ...first, used: { ...first.used, characters: usage.characters } }, ...others];
    const parts = new Map<KeptPrice, ChargedUsage>();
    for (const { used, asked, told } of all) {
      const kept = keptPrices.of(price, chargedRates(price, used, { asked, told, isRegional }));
      const before = parts.get(kept);
      const sum = before ? addUsage(before.used, used) : used;
      parts.set(kept, { used: sum, card: kept.card, requests: (before?.requests ?? 0) + 1 });
    }
    return { cost: costOfAll([...parts.values()]), ...writtenParts(parts) };
  };
}

function ofPlain(kept: KeptPrice, usage: CallUsage): PricedUsage {
  const cost = costOf(kept.card, usage);
  if (kept.isKept) return { cost, price_id: kept.id, price_parts: null };
  return { cost, ...writtenParts(new Map([[kept, { used: usage, card: kept.card, requests: 1 }]])) };
}

/** The columns of the row have all that there is of one request without rare parts, at a price that is kept. */
function writtenParts(parts: ReadonlyMap<KeptPrice, ChargedUsage>): Omit<PricedUsage, "cost"> {
  const [first] = parts;
  const id = first && parts.size === 1 ? first[0].id : null;
  if (first && id !== null && first[0].isKept && first[1].requests === 1 && !hasRare(first[1].used)) {
    return { price_id: id, price_parts: null };
  }
  const written = [...parts].map(([kept, charged]) => writtenPart(kept, charged));
  return { price_id: id, price_parts: JSON.stringify(written) };
}

function hasRare({ inputAudio = 0, inputImage = 0, outputAudio = 0, searches = 0 }: CallUsage): boolean {
  return inputAudio + inputImage + outputAudio + searches > 0;
}

function writtenPart({ id, isKept, json }: KeptPrice, { used, requests }: ChargedUsage): WrittenPart {
  const { characters, inputAudio, inputImage, outputAudio, searches } = used;
  const card = isKept ? {} : { card: JSON.parse(json) as Record<string, unknown> };
  const counts = {
    ...keptTokens(used),
    characters,
    input_audio: inputAudio,
    input_image: inputImage,
    output_audio: outputAudio,
    searches,
  };
  const counted = Object.entries(counts).filter(([, count]) => (count ?? 0) > 0);
  return { price: id, ...card, requests, ...Object.fromEntries(counted) };
}
