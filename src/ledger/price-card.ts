/**
 * PriceCard is the price that one call was charged by: the rates that were chosen for it, its fees and its factor, and no other part of the
 * model's price. The table `prices` keeps each card once, as JSON under an id that follows from its content: so every process gives
 * the same card the same id, and nobody has to ask for one.
 */
import { createHash } from "node:crypto";
import type { Price, Rates } from "../call/price.ts";

/** PriceCard is a price as it is kept. Money is in millionths of the unit, as in `Price`. */
export interface PriceCard extends Rates {
  /** For each web search, and for each request to an upstream. Default: 0. */
  readonly search?: number | undefined;
  readonly request?: number | undefined;
  /** The factor of the whole charge, in millionths. Default: 1,000,000. */
  readonly factor?: number | undefined;
  /** The service tier or speed that the rates are of. Unset: the ordinary one. It changes no charge. */
  readonly mode?: string | undefined;
}

export const oneFactor = 1_000_000;

/** ChosenRates is what `chargedRates` chose. */
export interface ChosenRates {
  readonly rates: Rates;
  readonly factor: number;
  readonly mode?: string | undefined;
}

/** The members of a card in the order of its JSON, and their names there. Names never change: databases have them. */
const members = [
  ["input", "input"],
  ["output", "output"],
  ["cacheRead", "cache_read"],
  ["cacheWrite", "cache_write"],
  ["cacheWriteHour", "cache_write_hour"],
  ["characters", "characters"],
  ["inputAudio", "input_audio"],
  ["inputImage", "input_image"],
  ["outputAudio", "output_audio"],
  ["search", "search"],
  ["request", "request"],
  ["factor", "factor"],
  ["mode", "mode"],
] as const satisfies readonly (readonly [keyof PriceCard, string])[];

export function cardOf({ search, request }: Price, { rates, factor, mode }: ChosenRates): PriceCard {
  const { input, output, cacheRead, cacheWrite, cacheWriteHour, characters, inputAudio, inputImage, outputAudio } =
    rates;
  const ordinary = { input, output, cacheRead, cacheWrite, cacheWriteHour, characters };
  const rare = { inputAudio, inputImage, outputAudio, search, request, mode };
  return { ...ordinary, ...rare, ...(factor === oneFactor ? {} : { factor }) };
}

/** cardJson writes a card as JSON: the same card always as the same text. */
export function cardJson(card: PriceCard): string {
  return JSON.stringify(Object.fromEntries(members.map(([name, written]) => [written, card[name]])));
}

/** cardFrom reads what `cardJson` wrote. Throws where that is no card. */
export function cardFrom(json: string): PriceCard {
  return cardOfMembers(JSON.parse(json) as Record<string, unknown>);
}

export function cardOfMembers(written: Readonly<Record<string, unknown>>): PriceCard {
  const card = Object.fromEntries(members.map(([name, as]) => [name, written[as]])) as unknown as PriceCard;
  const amounts = [card.input, card.output, card.cacheRead, card.cacheWrite, card.cacheWriteHour, card.characters];
  if (!amounts.every((amount) => Number.isSafeInteger(amount))) throw new Error("a kept price lacks a rate");
  return card;
}

/** cardId returns the id of a card: `prc_` and 72 bits of the SHA-256 of its JSON. */
export function cardId(json: string): string {
  return `prc_${createHash("sha256").update(json).digest("base64url").slice(0, 12)}`;
}
