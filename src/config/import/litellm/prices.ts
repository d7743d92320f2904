/** Converts LiteLLM's costs, US dollars a token, to prices, units per million: by digits, never by fractions. */
import { type Decimal, product } from "../decimals.ts";
import type { BandDraft, PriceDraft } from "../draft.ts";
import type { Notes } from "../notes.ts";
import { memberOf, type Source } from "../source.ts";

/** columns are the columns of a price by the cost's name, without what says the tier or the length of the prompt. */
const columns: ReadonlyMap<string, string> = new Map(
  Object.entries<string>({
    input_cost_per_token: "input",
    output_cost_per_token: "output",
    cache_read_input_token_cost: "cache_read",
    cache_creation_input_token_cost: "cache_write",
    cache_creation_input_token_cost_above_1hr: "cache_write_hour",
    input_cost_per_audio_token: "input_audio",
    input_cost_per_image_token: "input_image",
    output_cost_per_audio_token: "output_audio",
    input_cost_per_character: "characters",
  }),
);

/** cards are the price's service tiers, by the end of the cost's name. */
const cards: ReadonlyMap<string, string> = new Map(
  Object.entries<string>({ priority: "priority", ultrafast: "ultrafast", flex: "flex", batches: "batch" }),
);

/** Cost is what a cost's name says. */
interface Cost {
  readonly column: string;
  readonly above: number | undefined;
  readonly card: string | undefined;
}

/** costOfName reads `cache_read_input_token_cost_above_200k_tokens_priority`; undefined for costs that have no counterpart. */
function costOfName(name: string): Cost | undefined {
  const [, rest = name, card] = /^(.*?)_(priority|ultrafast|flex|batches)$/.exec(name) ?? [];
  const [, base = rest, thousands] = /^(.*)_above_(\d+)k_tokens$/.exec(rest) ?? [];
  const column = columns.get(base);
  const above = thousands === undefined ? undefined : Number(thousands) * 1000;
  return column === undefined ? undefined : { column, above, card: cards.get(card ?? "") };
}

/** isCost returns whether a parameter is a cost, convertible or not. */
export const isCost = (name: string) =>
  !name.startsWith("search_") && /(?:^|_)costs?_per_|_token_cost(?:_|$)/.test(name);

/** perMillion returns a cost for each as a price for a million: "1.5e-06" is "1.50". Undefined where the text is no number. */
export const perMillion = (text: string): Decimal | undefined => product(text, "1e6");

/**
 * priceOf reads the costs of a deployment. `sources` are the maps that may have them, the first of which wins; `known` is the
 * model's price in the catalogue. Costs of the file replace the catalogue's price, but for those that only add to it.
 */
export function priceOf(
  sources: readonly (Source | undefined)[],
  known: PriceDraft | undefined,
  isChat: boolean,
  notes: Notes,
): PriceDraft | undefined {
  const costs = costsIn(sources);
  const isOwn = costs.has("input_cost_per_token") || costs.has("input_cost_per_character");
  const price: PriceDraft = isOwn ? {} : structuredClone(known ?? {});
  for (const [name, value] of costs) addCost(price, name, value, notes);
  if (isOwn && isChat && price.output === undefined) {
    // LiteLLM merges costs of the file into those that it knows.
    price.output = known?.output;
    const place = costs.get("input_cost_per_token");
    if (price.output === undefined && place) {
      notes.toDo(
        place,
        "there is no output_cost_per_token, so that output costs nothing. Give it a price, if it has one",
      );
    }
  }
  completeCard(price, price, isChat);
  for (const name of cards.values()) {
    const card = price[name] as PriceDraft | undefined;
    if (card && !completeCard(card, price, isChat)) delete price[name];
  }
  const [search] = sources.flatMap((source) => memberOf(source, "search_context_cost_per_query") ?? []);
  const dearest = search && dearestSearch(search);
  if (dearest !== undefined) price.web_search = dearest;
  return Object.keys(price).length > 0 ? price : undefined;
}

/** hasCosts returns whether there are costs of the file's own. */
export const hasCosts = (sources: readonly (Source | undefined)[]) => costsIn(sources).size > 0;

/** costsIn returns the costs that are set, by their names. */
function costsIn(sources: readonly (Source | undefined)[]): ReadonlyMap<string, Source> {
  const costs = new Map<string, Source>();
  for (const source of [...sources].reverse()) {
    for (const [name, value] of source?.members ?? [])
      if (isCost(name) && value.scalar !== null) costs.set(name, value);
  }
  return costs;
}

function addCost(price: PriceDraft, name: string, value: Source, notes: Notes): void {
  const cost = costOfName(name);
  const read = cost && perMillion(value.text ?? "");
  if (!cost || !read) {
    const why = cost
      ? `${name} is no decimal number`
      : `${name}: there is no such price. docs/prices.md has those that there are`;
    // A cost of nothing that has no counterpart is no loss.
    if (cost || Number(value.text) !== 0) notes.leftOut(value, why);
    return;
  }
  if (!read.isExact) notes.changed(value, `${name}: a price has six places for a million; what is finer is rounded up`);
  const card = cost.card === undefined ? price : childOf(price, cost.card);
  if (cost.above === undefined) card[cost.column] = read.text;
  else bandOf(card, cost.above)[cost.column] = read.text;
}

function childOf(price: PriceDraft, name: string): PriceDraft {
  const child = (price[name] as PriceDraft | undefined) ?? {};
  price[name] = child;
  return child;
}

function bandOf(card: PriceDraft, above: number): BandDraft {
  const bands = (card.long as BandDraft[] | undefined) ?? [];
  card.long = bands;
  const known = bands.find((band) => band.above === above);
  if (known) return known;
  const band: BandDraft = { above };
  bands.push(band);
  bands.sort((a, b) => a.above - b.above);
  return band;
}

/**
 * completeCard adds what a card, and its bands, lack: neither falls back on other rates by itself. Returns whether it has an input
 * then, without which it is no card; bands without one are removed.
 */
function completeCard(card: PriceDraft, ordinary: PriceDraft, isChat: boolean): boolean {
  const { input, output } = ordinary;
  card.input ??= input;
  if (isChat && card.input !== undefined) card.output ??= output ?? "0";
  const bands = (card.long as BandDraft[] | undefined) ?? [];
  for (const band of bands) {
    for (const column of ["input", "output", "cache_read", "cache_write", "cache_write_hour"]) {
      const rate = card[column];
      if (typeof rate === "string") band[column] ??= rate;
    }
  }
  for (const column of ["input", "output"]) if (card[column] === undefined) delete card[column];
  if (bands.some((band) => band.input === undefined)) delete card.long;
  return card.input !== undefined;
}

/** dearestSearch returns the highest cost of a search, whatever the size of its context. */
function dearestSearch(source: Source): string | undefined {
  const costs = [...(source.members?.values() ?? [])].flatMap(({ text = "" }) => product(text)?.text ?? []);
  return costs.sort((a, b) => Number(a) - Number(b)).at(-1);
}
