/** Makes the price by which a model is charged of the one in the catalogue or gateway.yaml. */

import type { Mode, Price, RateCard, Rates } from "../call/price.ts";
import type { ModelConfig, PriceConfig } from "../config/config.ts";

/** The rates without which a model of a kind has no price. */
const pricedParts = { chat: ["input", "output"], embedding: ["input"], speech: ["characters"] } as const;

/** priceOf returns the model's own price, or else the one of unpriced models; undefined where neither has all that its kind needs. */
export function priceOf(
  { kind, price: own }: Pick<ModelConfig, "kind" | "price">,
  unpriced?: PriceConfig,
): Price | undefined {
  const price = [own, unpriced].find((known) => known && pricedParts[kind].every((part) => known[part] !== undefined));
  if (!price) return undefined;
  const { priority, fast, ultrafast, flex, batch, regional, web_search: search, request } = price;
  const modes = defined<Mode, RateCard>({
    priority: priority && cardOf(priority),
    fast: fast && cardOf(fast),
    ultrafast: ultrafast && cardOf(ultrafast),
    flex: flex && cardOf(flex),
    batch: batch && cardOf(batch),
  });
  const fees = defined({ regional, search, request });
  return { ...cardOf(price), ...(Object.keys(modes).length > 0 && { modes }), ...fees };
}

type CardConfig = Pick<PriceConfig, keyof NonNullable<PriceConfig["priority"]>>;
type RatesConfig = Omit<CardConfig, "long"> & Pick<PriceConfig, "characters">;

function cardOf({ long, ...rates }: CardConfig & RatesConfig): RateCard {
  const card = ratesOf(rates);
  if (!long) return card;
  return { ...card, long: long.map(({ above, ...band }) => ({ above, ...ratesOf(band) })) };
}

/** ratesOf returns rates with defaults: a cache without a price costs what input costs. */
function ratesOf({ input = 0, output = 0, characters = 0, ...written }: RatesConfig): Rates {
  const { cache_read = input, cache_write = input, cache_write_hour = cache_write } = written;
  const { input_audio: inputAudio, input_image: inputImage, output_audio: outputAudio } = written;
  const cache = { cacheRead: cache_read, cacheWrite: cache_write, cacheWriteHour: cache_write_hour };
  return { input, output, characters, ...cache, ...defined({ inputAudio, inputImage, outputAudio }) };
}

function defined<K extends string, V>(values: { readonly [key in K]: V | undefined }): { readonly [key in K]?: V } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as { [key in K]?: V };
}
