/** The catalogue's prices are in US dollars: what they are in the unit of this gateway. */
import { z } from "zod";
import type { ModelConfig } from "./schema-models.ts";
import { moneySchema } from "./values.ts";

export const currenciesSchema = z.strictObject({ dollar: z.record(z.string().regex(/^[A-Z]{3,10}$/), moneySchema) });
export type CurrenciesConfig = z.output<typeof currenciesSchema>;

/** The two factors that turn a price of the catalogue into a price in units. In millionths. */
export interface CataloguePrices {
  /** How many units a US dollar is. */
  readonly dollar: number;
  readonly markup: number;
  /** Whether nobody has said what a dollar is, and a currency that is none may be meant. */
  readonly isAssumed: boolean;
}

const one = 1_000_000;

/** `written` is what gateway.yaml says of them. A unit that is no known currency is taken for a dollar. */
export function cataloguePricesOf(
  written: { readonly dollar?: number | undefined; readonly markup?: number | undefined } | undefined,
  unit: string,
  { dollar: known }: CurrenciesConfig,
): CataloguePrices {
  const assumed = Object.hasOwn(known, unit) ? known[unit] : undefined;
  const isAssumed = written?.dollar === undefined && unit !== "USD";
  return { dollar: written?.dollar ?? assumed ?? one, markup: written?.markup ?? one, isAssumed };
}

/** Returns a model of the catalogue with its prices in units. */
export function inUnits(model: ModelConfig, { dollar, markup }: CataloguePrices): ModelConfig {
  if (!model.price || (dollar === one && markup === one)) return model;
  return { ...model, price: inMoney(model.price, (amount) => times(amount, dollar, markup)) };
}

/** The members of a price that are no money: `above` counts tokens, and `regional` is a factor. */
const noMoney: ReadonlySet<string> = new Set(["above", "regional"]);

/** Returns the price, or a part of it, with all of its amounts in other money. */
function inMoney<T>(price: T, inOther: (amount: number) => number): T {
  if (typeof price === "number") return inOther(price) as T;
  if (Array.isArray(price)) return price.map((part) => inMoney(part, inOther)) as T;
  if (typeof price !== "object" || price === null) return price;
  const parts = Object.entries(price).map(([key, part]) => [key, noMoney.has(key) ? part : inMoney(part, inOther)]);
  return Object.fromEntries(parts) as T;
}

/** Rounded up, as charges are: to a millionth. */
function times(amount: number, ...factors: readonly number[]): number {
  const scale = BigInt(one) ** BigInt(factors.length);
  const product = factors.reduce((before, factor) => before * BigInt(factor), BigInt(amount));
  return Number((product + scale - 1n) / scale);
}
