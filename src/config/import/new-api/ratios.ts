/** Converts new-api's ratios to prices, US dollars for a million tokens: by digits, never by fractions. */
import { product } from "../decimals.ts";
import type { PriceDraft } from "../draft.ts";
import type { Notes } from "../notes.ts";
import { memberOf, type Source, textOf } from "../source.ts";

/** dollarsPerRatio is what a ratio of 1 costs: two dollars for a million tokens. */
const dollarsPerRatio = "2";

/** columns are the ratios that are multiplied with the model's own, and with others. */
const columns: readonly (readonly [column: string, ratios: readonly string[]])[] = [
  ["input", []],
  ["output", ["completion_ratio"]],
  ["cache_read", ["cache_ratio"]],
  ["cache_write", ["create_cache_ratio"]],
  ["input_image", ["image_ratio"]],
  ["input_audio", ["audio_ratio"]],
  ["output_audio", ["audio_ratio", "audio_completion_ratio"]],
];

/** priceOf reads the price of a model in the list of `GET /api/pricing`. */
export function priceOf(entry: Source, kind: string, notes: Notes): PriceDraft | undefined {
  const name = textOf(memberOf(entry, "model_name"));
  if (memberOf(entry, "billing_expr")) {
    notes.toDo(
      entry,
      `"${name}": its price is an expression. Write what it comes to into price; docs/prices.md has long prompts and tiers`,
    );
    return undefined;
  }
  if (textOf(memberOf(entry, "quota_type")) === "1") {
    const request = product(textOf(memberOf(entry, "model_price")) ?? "")?.text;
    return request === undefined ? undefined : { input: "0", ...(kind === "chat" && { output: "0" }), request };
  }
  const ratio = textOf(memberOf(entry, "model_ratio"));
  if (ratio === undefined || kind === "speech") {
    if (kind === "speech")
      notes.toDo(entry, `"${name}": speech has a price for a million characters. Write it into price.characters`);
    return undefined;
  }
  const price: PriceDraft = {};
  for (const [column, others] of columns) {
    const ratios = others.map((other) => textOf(memberOf(entry, other)));
    if (ratios.some((other) => other === undefined) || (kind !== "chat" && column !== "input")) continue;
    const amount = product(dollarsPerRatio, ratio, ...(ratios as string[]))?.text;
    if (amount !== undefined) price[column] = amount;
  }
  if (kind === "chat") price.output ??= price.input;
  return price.input === undefined ? undefined : price;
}
