/**
 * Prices a call's row again, from the row and its kept price alone: for `reconcile`, and for the page of the call. Pure.
 *
 * Most rows are one request at one price: their counts are their columns, and `price_id` names the card. What does not fit in there is in
 * `price_parts`, a JSON list: a part for each card, with all its counts. A part has the card itself where that was not kept yet when the
 * call ended; a part of an answer from the cache has a share of an earlier charge instead.
 */
import { type CallUsage, nothingUsed } from "../call/usage.ts";
import { type ChargedUsage, costOfAll, shareOf } from "./price.ts";
import { cardOfMembers, type PriceCard } from "./price-card.ts";

/** RepricedRow is what is read of a call's row (`storage/columns.ts`). */
export interface RepricedRow {
  readonly input: number;
  readonly cache_read: number;
  /** All that was written to a cache, that for longer included. */
  readonly cache_write: number;
  readonly cache_write_hour: number;
  readonly output: number;
  readonly characters: number;
  readonly price_id: string | null;
  readonly price_parts: string | null;
}

/** FindCard returns a kept card by its id; undefined where there is none. */
export type FindCard = (id: string) => PriceCard | undefined;

/**
 * repriced returns what a call costs by its kept price, in millionths of the unit: that is the `cost` and the `waived` of its row together.
 * Returns undefined where the row names no price, as those of older versions and of models without one, or where the card is gone. Throws
 * where `price_parts` cannot be read.
 */
export function repriced(row: RepricedRow, findCard: FindCard): number | undefined {
  const parts = chargedParts(row, findCard);
  if (parts === undefined) return undefined;
  if (parts.kind === "share") return shareOf(parts.of, parts.share);
  return costOfAll(parts.charged);
}

/** ChargedParts is how a call's charge came about: usage at prices, or a share, in millionths, of what an answer cost at first. */
export type ChargedParts =
  | { readonly kind: "used"; readonly charged: readonly ChargedUsage[] }
  | { readonly kind: "share"; readonly of: number; readonly share: number };

/** chargedParts returns how a call's charge came about. Returns undefined, and throws, as `repriced`. */
export function chargedParts(row: RepricedRow, findCard: FindCard): ChargedParts | undefined {
  if (row.price_parts === null) return chargedByColumns(row, findCard);
  const parts = JSON.parse(row.price_parts) as readonly WrittenPart[];
  const [first] = parts;
  if (first?.share !== undefined && first.of !== undefined) return { kind: "share", of: first.of, share: first.share };
  const charged: ChargedUsage[] = [];
  for (const part of parts) {
    const card = part.card ? cardOfMembers(part.card) : findCard(part.price ?? "");
    if (!card) return undefined;
    charged.push({ used: usageOfPart(part), card, requests: part.requests ?? 1 });
  }
  return { kind: "used", charged };
}

function chargedByColumns(row: RepricedRow, findCard: FindCard): ChargedParts | undefined {
  const card = row.price_id === null ? undefined : findCard(row.price_id);
  return card && { kind: "used", charged: [{ used: usageOfPart(row), card, requests: 1 }] };
}

/** WrittenPart is an item of `price_parts`. Counts that it leaves out are 0. */
export interface WrittenPart {
  readonly price?: string;
  readonly card?: Readonly<Record<string, unknown>>;
  readonly requests?: number;
  readonly input?: number;
  readonly cache_read?: number;
  readonly cache_write?: number;
  readonly cache_write_hour?: number;
  readonly output?: number;
  readonly reasoning?: number;
  readonly characters?: number;
  readonly input_audio?: number;
  readonly input_image?: number;
  readonly output_audio?: number;
  readonly searches?: number;
  /** Of an answer from the cache: what it cost at first, and the share of that, in millionths. */
  readonly of?: number;
  readonly share?: number;
}

function usageOfPart(part: Omit<WrittenPart, "price" | "card">): CallUsage {
  const { input = 0, cache_read = 0, cache_write = 0, cache_write_hour = 0, output = 0, characters = 0 } = part;
  const { input_audio: inputAudio, input_image: inputImage, output_audio: outputAudio, searches } = part;
  return {
    ...nothingUsed,
    input,
    cacheRead: cache_read,
    cacheWrite: cache_write - cache_write_hour,
    cacheWriteHour: cache_write_hour,
    output,
    characters,
    inputAudio,
    inputImage,
    outputAudio,
    searches,
  };
}
