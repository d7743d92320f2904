/**
 * Chooses the rates of a model's price by which a call is held and charged.
 *
 * The request decides the hold: the highest rates that it may come to be charged by. What the upstream reports decides the charge.
 * A service tier, speed or region that is asked for and has no price is refused. One that the upstream reports unasked, and that has
 * no price, is charged at the highest known rates; so is one that was asked for where the upstream reports none. Base rates are
 * never charged for lack of knowledge.
 */

import { type Band, kinds, type Mode, modes, type Price, type RateCard, type Rates, rareKinds } from "../call/price.ts";
import type { CallUsage, Manner, ToldManner } from "../call/usage.ts";
import type { ChosenRates } from "./price-card.ts";

/** Asked is how a request asks to be served, and how many web searches it may use. */
export interface Asked extends Manner {
  readonly searches: number;
}

/** Served is how a request was served: what it asked for, and what its upstream has reported of that. */
export interface Served {
  readonly asked: Asked;
  readonly told: ToldManner | undefined;
  /** isRegional says that its upstream computes in one region, whatever is asked. */
  readonly isRegional: boolean;
}

const one = 1_000_000;

/** isPlain reports whether all calls have the same rates, whatever they ask for. */
export function isPlain(price: Price): boolean {
  const { long, modes: others, regional, search, request, inputAudio, inputImage, outputAudio } = price;
  return (long ?? others ?? regional ?? search ?? request ?? inputAudio ?? inputImage ?? outputAudio) === undefined;
}

/** unpricedKey returns the key of the request that asks for what has no price; undefined where all of it has one. */
export function unpricedKey(price: Price, { tier, speed, region, searches }: Asked): UnpricedKey | undefined {
  if (tier !== "" && tier !== "auto" && !tierCardOf(price, tier)) return "service_tier";
  if (speed !== "" && !cardOf(price, speed)) return "speed";
  if (region !== "" && price.regional === undefined) return "inference_geo";
  return searches > 0 && price.search === undefined ? "tools" : undefined;
}

/** isUnpriced reports whether the fee of a vendor's own tool has no price. */
export function isUnpriced({ search }: Price, fee: "search" | "other" | undefined): boolean {
  return fee === "other" || (fee === "search" && search === undefined);
}

export type UnpricedKey = "service_tier" | "speed" | "inference_geo" | "tools";

export interface Holding {
  readonly asked: Asked;
  /** The most tokens that the prompt may have. */
  readonly prompt: number;
  /** hasAttachments says that some of its input is no text. */
  readonly hasAttachments: boolean;
  /** isRegional says that an upstream may be asked that computes in one region, whatever is asked. */
  readonly isRegional: boolean;
}

/** heldRates returns the highest rates that a call may come to be charged by. */
export function heldRates(price: Price, holding: Holding): Rates {
  const { asked, prompt, hasAttachments } = holding;
  const { tier, speed } = asked;
  const named = tier === "auto" ? tierCards(price) : [tierCardOf(price, tier)];
  const cards = [price, ...named, cardOf(price, speed)].filter((card) => card !== undefined);
  const bands = cards.flatMap((card) => (card.long ?? []).filter(({ above }) => prompt > above));
  const rates = [...cards, ...bands].reduce<Rates>(dearer, price);
  const { inputAudio = 0, inputImage = 0, outputAudio = 0 } = rates;
  const ofInput = hasAttachments ? Math.max(rates.input, inputAudio, inputImage) : rates.input;
  return multiplied(
    { ...rates, input: ofInput, output: Math.max(rates.output, outputAudio) },
    heldFactor(price, holding),
  );
}

/** heldFactor returns the highest factor that a call may come to be charged by, in millionths: it may be computed elsewhere than asked. */
function heldFactor({ regional = one }: Price, { asked, isRegional }: Holding): number {
  return asked.region === "" && !isRegional ? one : Math.max(one, regional);
}

/** heldFees returns the most that fees of one request may come to, in millionths of the unit. */
export function heldFees(price: Price, holding: Holding): number {
  const { search = 0, request = 0 } = price;
  const fees = holding.asked.searches * search + request;
  const factor = heldFactor(price, holding);
  return factor === one ? fees : Math.ceil((fees * factor) / one);
}

/** chargedRates returns the rates by which a request is charged, with their factor, in millionths, and what they are of. */
export function chargedRates(price: Price, used: CallUsage, { asked, told = {}, isRegional }: Served): ChosenRates {
  const prompt = used.input + used.cacheRead + used.cacheWrite + used.cacheWriteHour;
  const [tier, speed] = [wayOfTier(price, asked, told), wayOfSpeed(price, asked, told)];
  const [byTier, bySpeed] = [ratesOf(price, prompt, tier), ratesOf(price, prompt, speed)];
  const rates = byTier && bySpeed ? dearer(byTier, bySpeed) : (byTier ?? bySpeed ?? bandOf(price, prompt));
  const isInRegion = isRegional || (told.region ?? asked.region) !== "";
  return { rates, factor: isInRegion ? (price.regional ?? one) : one, mode: modeOf(tier, speed) };
}

/** Way is the tier, or the speed, that a request was served by, as far as is known. */
interface Way {
  /** The word that was reported, or else the one that was asked for; empty for the ordinary way. */
  readonly word: string;
  readonly isTold: boolean;
  /** Its rates; undefined where the word has no price. */
  readonly card: RateCard | undefined;
}

/** wayOfTier takes `auto` for the ordinary tier where none is reported. */
function wayOfTier(price: Price, asked: Manner, told: ToldManner): Way {
  const word = told.tier ?? (asked.tier === "auto" ? "" : asked.tier);
  return { word, isTold: told.tier !== undefined, card: tierCardOf(price, word) };
}

function wayOfSpeed(price: Price, asked: Manner, told: ToldManner): Way {
  const word = told.speed ?? asked.speed;
  return { word, isTold: told.speed !== undefined, card: cardOf(price, word) };
}

/** modeOf names the tier and the speed that a request was charged by: `priority+fast`. A word without a price is `unknown`. */
function modeOf(...ways: readonly Way[]): string | undefined {
  const named = ways.filter(({ word }) => word !== "").map(({ word, card }) => (card ? word : "unknown"));
  return named.length === 0 ? undefined : named.join("+");
}

/** ratesOf returns the rates for a tier or speed that was asked for or reported; undefined for the ordinary one. */
function ratesOf(price: Price, prompt: number, { word, isTold, card }: Way): Rates | undefined {
  if (word === "") return undefined;
  const base = bandOf(price, prompt);
  if (!card) return tierCards(price).reduce<Rates>((rates, other) => dearer(rates, bandOf(other, prompt)), base);
  const own = bandOf(card, prompt);
  // A card without bands says nothing of long prompts; and an upstream that reports nothing may have served the ordinary way.
  const isSure = isTold && (card.long !== undefined || base === price);
  return isSure ? own : dearer(own, base);
}

/** tierCards returns the cards among which upstreams choose. A speed, and `ultrafast`, are served only where they are asked for. */
function tierCards({ modes: others = {} }: Price): readonly RateCard[] {
  return [others.priority, others.flex, others.batch].filter((card) => card !== undefined);
}

/** tierCardOf returns the card of a service tier. `fast` is OpenAI's other name of `priority`. */
function tierCardOf(price: Price, tier: string): RateCard | undefined {
  return cardOf(price, tier) ?? (tier === "fast" ? cardOf(price, "priority") : undefined);
}

function cardOf({ modes: others = {} }: Price, word: string): RateCard | undefined {
  return (modes as readonly string[]).includes(word) ? others[word as Mode] : undefined;
}

/** bandOf returns the rates of a prompt of so many tokens: those of the highest band that it is above. */
function bandOf(card: RateCard, prompt: number): Rates {
  return card.long?.findLast(({ above }) => prompt > above) ?? card;
}

/** dearer returns the higher rate of each kind. */
function dearer(one: Rates | Band, other: Rates | Band): Rates {
  const rates: Record<string, number> = {};
  for (const kind of kinds) rates[kind] = Math.max(one[kind], other[kind]);
  for (const [kind, as] of rareKinds) {
    if ((one[kind] ?? other[kind]) === undefined) continue;
    rates[kind] = Math.max(one[kind] ?? one[as], other[kind] ?? other[as]);
  }
  return rates as unknown as Rates;
}

/** multiplied returns rates times a factor, rounded up: a hold is never less than the charge. */
function multiplied(rates: Rates, factor: number): Rates {
  if (factor === one) return rates;
  const times = (amount: number) => Number((BigInt(amount) * BigInt(factor) + BigInt(one) - 1n) / BigInt(one));
  return Object.fromEntries(Object.entries(rates).map(([kind, amount]) => [kind, times(amount)])) as unknown as Rates;
}
