/** A model's further prices: for long prompts, service modes, searches and requests. */
import { Text } from "@mantine/core";
import type { CatalogModel, ModelPrice, TokenRates } from "../../../../gen/modelgateway/v1/accounts_pb.ts";
import { useFormat } from "../../language/format.ts";
import { useJoin } from "../../language/join.ts";
import { texts, useTexts } from "../../language/language.tsx";
import classes from "./models.module.css";

const said = texts(
  {
    prices: "Further prices",
    above: (tokens: string) => `Above ${tokens} prompt tokens`,
    priority: "Priority",
    fast: "Fast",
    ultrafast: "Ultrafast",
    flex: "Flex",
    batch: "Batch",
    both: (way: string, bound: string) => `${way}, ${bound.toLowerCase()}`,
    rates: (input: string, output: string) => `input ${input}, output ${output}`,
    hour: (price: string) => `Cache write, kept longer ${price}`,
    audio: (price: string) => `Audio input ${price}`,
    image: (price: string) => `Image input ${price}`,
    spoken: (price: string) => `Audio output ${price}`,
    region: (factor: string) => `In a region × ${factor}`,
    search: (price: string) => `Web search ${price} each`,
    request: (price: string) => `Request ${price} each`,
  },
  {
    prices: "其他价格",
    above: (tokens: string) => `提示超过 ${tokens} Token`,
    priority: "优先",
    fast: "快速",
    ultrafast: "极速",
    flex: "弹性",
    batch: "批处理",
    both: (way: string, bound: string) => `${way}，${bound}`,
    rates: (input: string, output: string) => `输入 ${input}，输出 ${output}`,
    hour: (price: string) => `缓存写入（长时）${price}`,
    audio: (price: string) => `音频输入 ${price}`,
    image: (price: string) => `图像输入 ${price}`,
    spoken: (price: string) => `音频输出 ${price}`,
    region: (factor: string) => `指定区域 × ${factor}`,
    search: (price: string) => `每次网络搜索 ${price}`,
    request: (price: string) => `每次请求 ${price}`,
  },
);

/** FurtherPrices renders nothing if there are none. */
export function FurtherPrices({ prices }: { readonly prices: readonly string[] }) {
  const t = useTexts(said);
  if (prices.length === 0) return null;
  return (
    <ul aria-label={t.prices} className={classes.prices}>
      {prices.map((price) => (
        <Text key={price} component="li" size="xs" c="dimmed">
          {price}
        </Text>
      ))}
    </ul>
  );
}

/** useFurtherPrices returns each further price with its label. */
export function useFurtherPrices({ price }: CatalogModel): readonly string[] {
  const t = useTexts(said);
  const { money } = useFormat();
  const join = useJoin();
  const cards = useRateCards(price);
  const surcharges = useSurcharges(price);
  return [
    ...cards.map(({ name, rates }) => join.labelled(name, t.rates(money(rates.input), money(rates.output)))),
    ...surcharges,
  ];
}

/** RateCard is the rates of long prompts, of a service mode, or of both. */
export interface RateCard {
  readonly name: string;
  readonly rates: TokenRates;
}

/** useRateCards returns the rates that replace a price's own, each with its name. */
export function useRateCards(price: ModelPrice | undefined): readonly RateCard[] {
  const t = useTexts(said);
  const { count } = useFormat();
  if (!price) return [];
  const cardOf = (name: string, rates: TokenRates | undefined) => (rates ? [{ name, rates }] : []);
  const longOf = (long: ModelPrice["long"], way?: string) =>
    long.flatMap(({ above, rates }) => {
      const bound = t.above(count(above));
      return cardOf(way === undefined ? bound : t.both(way, bound), rates);
    });
  const names = new Map(
    Object.entries({ priority: t.priority, fast: t.fast, ultrafast: t.ultrafast, flex: t.flex, batch: t.batch }),
  );
  return [
    ...longOf(price.long),
    ...price.modes.flatMap(({ mode, rates, long }) => {
      const way = names.get(mode) ?? mode;
      return [...cardOf(way, rates), ...longOf(long, way)];
    }),
  ];
}

/** useSurcharges returns the prices that are no rates of tokens as such, each with its label. */
export function useSurcharges(price: ModelPrice | undefined): readonly string[] {
  const t = useTexts(said);
  const { money } = useFormat();
  if (!price) return [];
  const each = (say: (price: string) => string, amount: bigint | undefined) =>
    amount === undefined ? [] : [say(money(amount))];
  return [
    ...(price.cacheWriteHour === price.cacheWrite ? [] : [t.hour(money(price.cacheWriteHour))]),
    ...each(t.audio, price.inputAudio),
    ...each(t.image, price.inputImage),
    ...each(t.spoken, price.outputAudio),
    ...(price.regional === undefined ? [] : [t.region(String(Number(price.regional) / 1_000_000))]),
    ...each(t.search, price.webSearch),
    ...each(t.request, price.request),
  ];
}
