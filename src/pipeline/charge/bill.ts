/** Reads how the charge of a call came about from its row: the lines of its bill, each a count at a rate. */
import type { CallUsage } from "../../call/usage.ts";
import type { ChargedUsage } from "../../ledger/price.ts";
import { cardFrom, cardId, cardJson, oneFactor, type PriceCard } from "../../ledger/price-card.ts";
import { chargedParts, type RepricedRow, type WrittenPart } from "../../ledger/reprice.ts";

export type { WrittenPart } from "../../ledger/reprice.ts";

/** BillLine has the members of the proto's Charge. */
export interface BillLine {
  readonly kind: string;
  readonly count: number;
  readonly rate: number;
  readonly factor: number;
  readonly mode: string;
  readonly priceId: string;
}

/** priceIdsOf returns the ids of the prices that a row names. */
export function priceIdsOf({ price_id, price_parts }: RepricedRow): string[] {
  const parts = price_parts === null ? [] : (JSON.parse(price_parts) as readonly WrittenPart[]);
  const ids = [price_id, ...parts.map(({ price }) => price)].filter((id) => typeof id === "string");
  return [...new Set(ids)];
}

/** billOf returns the lines that are not zero. `cards` are cards as JSON, by id. It is empty where a price of the row is not known. */
export function billOf(row: RepricedRow, cards: ReadonlyMap<string, string>): BillLine[] {
  const parts = chargedParts(row, (id) => {
    const json = cards.get(id);
    return json === undefined ? undefined : cardFrom(json);
  });
  if (!parts) return [];
  if (parts.kind === "used") return parts.charged.flatMap(linesOf);
  return [{ kind: "share", count: parts.of, rate: parts.share, factor: oneFactor, mode: "", priceId: "" }];
}

function linesOf({ used, card, requests }: ChargedUsage): BillLine[] {
  const { factor = oneFactor, mode = "" } = card;
  const priceId = cardId(cardJson(card));
  const counts = [...countsOf(used, card), ["request", requests, card.request ?? 0] as const];
  return counts
    .filter(([kind, count, rate]) => count > 0 && (kind !== "request" || rate > 0))
    .map(([kind, count, rate]) => ({ kind, count, rate, factor, mode, priceId }));
}

/** countsOf splits the counts so that none is part of another. Audio and images without a rate of their own stay within the others. */
function countsOf(used: CallUsage, card: PriceCard): (readonly [kind: string, count: number, rate: number])[] {
  const own = (count: number | undefined, rate: number | undefined) => (rate === undefined ? 0 : (count ?? 0));
  const inputAudio = own(used.inputAudio, card.inputAudio);
  const inputImage = own(used.inputImage, card.inputImage);
  const outputAudio = own(used.outputAudio, card.outputAudio);
  return [
    ["input", used.input - inputAudio - inputImage, card.input],
    ["input_audio", inputAudio, card.inputAudio ?? 0],
    ["input_image", inputImage, card.inputImage ?? 0],
    ["cache_read", used.cacheRead, card.cacheRead],
    ["cache_write", used.cacheWrite, card.cacheWrite],
    ["cache_write_hour", used.cacheWriteHour, card.cacheWriteHour],
    ["output", used.output - outputAudio, card.output],
    ["output_audio", outputAudio, card.outputAudio ?? 0],
    ["characters", used.characters, card.characters],
    ["search", used.searches ?? 0, card.search ?? 0],
  ];
}
