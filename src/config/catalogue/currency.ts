/** Converts the catalogue's prices from US dollars to the gateway's unit. */
import { z } from "zod";
import type { ModelConfig } from "../schema-models.ts";
import { moneySchema } from "../values.ts";

export const currenciesSchema = z.strictObject({ dollar: z.record(z.string().regex(/^[A-Z]{3,10}$/), moneySchema) });
export type CurrenciesConfig = z.output<typeof currenciesSchema>;

/** CataloguePrices are the two factors that convert a price of the catalogue to units, in millionths. */
export interface CataloguePrices {
  /** dollar is the number of units for a US dollar. */
  readonly dollar: number;
  readonly markup: number;
  /** isAssumed is whether the rate is not configured, and the unit may be no currency at all. */
  readonly isAssumed: boolean;
}

const one = 1_000_000;

/**
 * cataloguePricesOf reads the factors. `written` is the setting in gateway.yaml. A unit that is not a known currency
 * counts as a dollar.
 */
export function cataloguePricesOf(
  written: { readonly dollar?: number | undefined; readonly markup?: number | undefined } | undefined,
  unit: string,
  { dollar: known }: CurrenciesConfig,
): CataloguePrices {
  const assumed = Object.hasOwn(known, unit) ? known[unit] : undefined;
  const isAssumed = written?.dollar === undefined && unit !== "USD";
  return { dollar: written?.dollar ?? assumed ?? one, markup: written?.markup ?? one, isAssumed };
}

/** inUnits returns a model of the catalogue with its prices in units. */
export function inUnits(model: ModelConfig, { dollar, markup }: CataloguePrices): ModelConfig {
  if (!model.price || (dollar === one && markup === one)) return model;
  return { ...model, price: inMoney(model.price, (amount) => times(amount, dollar, markup)) };
}

/** nonMoneyKeys are the members of a price that are not amounts: `above` counts tokens, and `regional` is a factor. */
const nonMoneyKeys: ReadonlySet<string> = new Set(["above", "regional"]);

/** inMoney converts all amounts in a price or a part of it. */
function inMoney<T>(price: T, inOther: (amount: number) => number): T {
  if (typeof price === "number") return inOther(price) as T;
  if (Array.isArray(price)) return price.map((part) => inMoney(part, inOther)) as T;
  if (typeof price !== "object" || price === null) return price;
  const parts = Object.entries(price).map(([key, part]) => [
    key,
    nonMoneyKeys.has(key) ? part : inMoney(part, inOther),
  ]);
  return Object.fromEntries(parts) as T;
}

/** times rounds up to a millionth, as charges do. */
function times(amount: number, ...factors: readonly number[]): number {
  const scale = BigInt(one) ** BigInt(factors.length);
  const product = factors.reduce((before, factor) => before * BigInt(factor), BigInt(amount));
  return Number((product + scale - 1n) / scale);
}
