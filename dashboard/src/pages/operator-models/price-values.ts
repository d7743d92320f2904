/** The values of a price's form, and the entry of the configuration that they are. Amounts are decimals in texts, never numbers. */
import {
  type JsonObject,
  nonEmpty,
  numberOf,
  objectAt,
  objectsAt,
  textAt,
  withValues,
  wordsOf,
} from "../../configuration/document.ts";

/** rateKeys are the rates of a million tokens: those that most models have come first. */
export const rateKeys = [
  "input",
  "output",
  "cache_read",
  "cache_write",
  "cache_write_hour",
  "input_audio",
  "input_image",
  "output_audio",
] as const;

export type RateKey = (typeof rateKeys)[number];
export type Rates = Readonly<Record<RateKey, string>>;

/** Band is the rates of prompts that are longer than `above` tokens. */
export interface Band {
  readonly above: string;
  readonly rates: Rates;
}

export const modeKeys = ["priority", "fast", "ultrafast", "flex", "batch"] as const;

export type ModeKey = (typeof modeKeys)[number];

/** Card is the rates of one service mode. */
export interface Card {
  readonly rates: Rates;
  readonly long: readonly Band[];
}

export interface PriceValues {
  readonly rates: Rates;
  readonly long: readonly Band[];
  /** modes are those that have rates of their own. */
  readonly modes: Readonly<Partial<Record<ModeKey, Card>>>;
  readonly characters: string;
  readonly regional: string;
  readonly webSearch: string;
  readonly request: string;
}

export const noRates = Object.fromEntries(rateKeys.map((key) => [key, ""])) as Rates;

export function priceValuesOf(price: JsonObject): PriceValues {
  const modes = modeKeys.flatMap((mode) => {
    const card = objectAt(price, mode);
    return Object.keys(card).length === 0 ? [] : [[mode, { rates: ratesOf(card), long: bandsOf(card) }] as const];
  });
  return {
    rates: ratesOf(price),
    long: bandsOf(price),
    modes: Object.fromEntries(modes),
    characters: textAt(price, "characters"),
    regional: textAt(price, "regional"),
    webSearch: textAt(price, "web_search"),
    request: textAt(price, "request"),
  };
}

/** priceEntry returns the entry; undefined for a model without a price. */
export function priceEntry(values: PriceValues): JsonObject | undefined {
  const cards = modeKeys.map((mode) => {
    const card = values.modes[mode];
    return [mode, card && withValues(rateEntries(card.rates), { long: bandEntries(card.long) })] as const;
  });
  return nonEmpty(
    withValues(rateEntries(values.rates), {
      characters: wordsOf(values.characters),
      long: bandEntries(values.long),
      ...Object.fromEntries(cards),
      regional: wordsOf(values.regional),
      web_search: wordsOf(values.webSearch),
      request: wordsOf(values.request),
    }),
  );
}

function ratesOf(object: JsonObject): Rates {
  return Object.fromEntries(rateKeys.map((key) => [key, textAt(object, key)])) as Rates;
}

function bandsOf(object: JsonObject): readonly Band[] {
  return objectsAt(object, "long").map((band) => ({ above: textAt(band, "above"), rates: ratesOf(band) }));
}

function rateEntries(rates: Rates): JsonObject {
  return withValues({}, Object.fromEntries(rateKeys.map((key) => [key, wordsOf(rates[key])])));
}

function bandEntries(bands: readonly Band[]): JsonObject[] | undefined {
  if (bands.length === 0) return undefined;
  return bands.map(({ above, rates }) => withValues(rateEntries(rates), { above: numberOf(above) }));
}
