/**
 * By which rates of a model's price a call is held and charged.
 *
 * What a request asks for decides the hold: the dearest of all that may come of it. What the upstream tells decides the charge. A
 * way of being served that is asked for and has no price is refused; one that the upstream tells unasked and that has none is
 * charged at the dearest that is known, as is one that was asked for where the upstream does not tell. Nothing is charged at the
 * base because nobody knows better.
 */

import { type Band, kinds, type Mode, modes, type Price, type RateCard, type Rates, rareKinds } from "../call/price.ts";
import type { CallUsage, Manner, ToldManner } from "../call/usage.ts";

/** What a request asks for, and of how many searches of the web it may make use. */
export interface Asked extends Manner {
  readonly searches: number;
}

/** How a request was served: what it asked for, and what its upstream has told of that. */
export interface Served {
  readonly asked: Asked;
  readonly told: ToldManner | undefined;
  /** Whether its upstream computes in one region whatever is asked. */
  readonly isRegional: boolean;
}

const one = 1_000_000;

/** Whether all calls have the same rates, whatever they ask for. */
export function isPlain(price: Price): boolean {
  const { long, modes: others, regional, search, request, inputAudio, inputImage, outputAudio } = price;
  return (long ?? others ?? regional ?? search ?? request ?? inputAudio ?? inputImage ?? outputAudio) === undefined;
}

/** Returns the key of the request that asks for what has no price; undefined where all of it has. */
export function unpricedKey(price: Price, { tier, speed, region, searches }: Asked): UnpricedKey | undefined {
  if (tier !== "" && tier !== "auto" && !cardOf(price, tier)) return "service_tier";
  if (speed !== "" && !cardOf(price, speed)) return "speed";
  if (region !== "" && price.regional === undefined) return "inference_geo";
  return searches > 0 && price.search === undefined ? "tools" : undefined;
}

/** Whether there is no price for a fee by which a vendor's own tool is paid. */
export function isUnpriced({ search }: Price, fee: "search" | "other" | undefined): boolean {
  return fee === "other" || (fee === "search" && search === undefined);
}

export type UnpricedKey = "service_tier" | "speed" | "inference_geo" | "tools";

export interface Holding {
  readonly asked: Asked;
  /** The most tokens that the prompt may have. */
  readonly prompt: number;
  /** Whether any of its input is no text. */
  readonly hasAttachments: boolean;
  /** Whether an upstream may be asked that computes in one region whatever is asked. */
  readonly isRegional: boolean;
}

/** Returns the dearest rates that a call may come to be charged by. */
export function heldRates(price: Price, holding: Holding): Rates {
  const { asked, prompt, hasAttachments } = holding;
  const { tier, speed } = asked;
  const named = tier === "auto" ? tierCards(price) : [cardOf(price, tier)];
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

/** A call may be computed elsewhere than was asked. */
function heldFactor({ regional = one }: Price, { asked, isRegional }: Holding): number {
  return asked.region === "" && !isRegional ? one : Math.max(one, regional);
}

/** Returns the most that fees of one request may come to, in millionths of the unit. */
export function heldFees(price: Price, holding: Holding): number {
  const { search = 0, request = 0 } = price;
  const fees = holding.asked.searches * search + request;
  const factor = heldFactor(price, holding);
  return factor === one ? fees : Math.ceil((fees * factor) / one);
}

/** Returns the rates by which a request is charged that was served so, and what they are multiplied by, in millionths. */
export function chargedRates(price: Price, used: CallUsage, { asked, told = {}, isRegional }: Served) {
  const prompt = used.input + used.cacheRead + used.cacheWrite + used.cacheWriteHour;
  const base = bandOf(price, prompt);
  const byTier = ratesOf(price, prompt, { asked: asked.tier === "auto" ? "" : asked.tier, told: told.tier });
  const bySpeed = ratesOf(price, prompt, { asked: asked.speed, told: told.speed });
  const rates = byTier && bySpeed ? dearer(byTier, bySpeed) : (byTier ?? bySpeed ?? base);
  const isInRegion = isRegional || (told.region ?? asked.region) !== "";
  return { rates, factor: isInRegion ? (price.regional ?? one) : one };
}

/** Returns the rates for a word that was asked for, or told; undefined for the ordinary ones. */
function ratesOf(price: Price, prompt: number, { asked, told }: { asked: string; told: string | undefined }) {
  const word = told ?? asked;
  if (word === "") return undefined;
  const base = bandOf(price, prompt);
  const card = cardOf(price, word);
  if (!card) return tierCards(price).reduce<Rates>((rates, other) => dearer(rates, bandOf(other, prompt)), base);
  const own = bandOf(card, prompt);
  // A card without bands says nothing of long prompts; and who does not tell may have served it the ordinary way.
  const isSure = told !== undefined && (card.long !== undefined || base === price);
  return isSure ? own : dearer(own, base);
}

/** The cards of service tiers, which upstreams choose among; speed is only what is asked for. */
function tierCards({ modes: others = {} }: Price): readonly RateCard[] {
  return [others.priority, others.flex, others.batch].filter((card) => card !== undefined);
}

function cardOf({ modes: others = {} }: Price, word: string): RateCard | undefined {
  return (modes as readonly string[]).includes(word) ? others[word as Mode] : undefined;
}

/** Returns the rates of a prompt of so many tokens: those of the last band that it is above. */
function bandOf(card: RateCard, prompt: number): Rates {
  return card.long?.findLast(({ above }) => prompt > above) ?? card;
}

/** Returns the dearer rate of each kind. */
function dearer(one: Rates | Band, other: Rates | Band): Rates {
  const rates: Record<string, number> = {};
  for (const kind of kinds) rates[kind] = Math.max(one[kind], other[kind]);
  for (const [kind, as] of rareKinds) {
    if ((one[kind] ?? other[kind]) === undefined) continue;
    rates[kind] = Math.max(one[kind] ?? one[as], other[kind] ?? other[as]);
  }
  return rates as unknown as Rates;
}

/** Rounded up: a hold is never less than the charge. */
function multiplied(rates: Rates, factor: number): Rates {
  if (factor === one) return rates;
  const times = (amount: number) => Number((BigInt(amount) * BigInt(factor) + BigInt(one) - 1n) / BigInt(one));
  return Object.fromEntries(Object.entries(rates).map(([kind, amount]) => [kind, times(amount)])) as unknown as Rates;
}
