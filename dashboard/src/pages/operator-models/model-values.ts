/** The values of a model's form, and the entry of the configuration that they are. */
import {
  booleanOf,
  choiceOf,
  type JsonObject,
  numberOf,
  objectAt,
  textAt,
  textsAt,
  withValues,
  wordsOf,
} from "../../configuration/document.ts";
import { type PriceValues, priceEntry, priceValuesOf } from "./price-values.ts";
import { type Levels, levelsOf, targetEntries } from "./targets.ts";

export interface ModelValues {
  readonly id: string;
  readonly aliases: readonly string[];
  readonly family: string;
  readonly kind: string;
  readonly vendor: string;
  readonly contextWindow: string;
  readonly maxOutputTokens: string;
  readonly dimensions: string;
  readonly created: string;
  /** completions is `native` or empty. */
  readonly completions: string;
  /** sticky and reasoning are `yes`, `no`, or empty for what suits. */
  readonly sticky: string;
  readonly reasoning: string;
  readonly price: PriceValues;
  readonly targets: Levels;
}

export function modelValuesOf(entry: JsonObject): ModelValues {
  return {
    id: textAt(entry, "id"),
    aliases: textsAt(entry, "aliases"),
    family: textAt(entry, "family"),
    kind: textAt(entry, "kind") || "chat",
    vendor: textAt(entry, "vendor"),
    contextWindow: textAt(entry, "context_window"),
    maxOutputTokens: textAt(entry, "max_output_tokens"),
    dimensions: textAt(entry, "dimensions"),
    created: textAt(entry, "created"),
    completions: textAt(entry, "completions") === "native" ? "native" : "",
    sticky: choiceOf(entry.sticky),
    reasoning: choiceOf(entry.reasoning),
    price: priceValuesOf(objectAt(entry, "price")),
    targets: levelsOf(entry),
  };
}

/** modelEntry returns the entry; what the form does not know is as in `before`. */
export function modelEntry(values: ModelValues, before: JsonObject = {}): JsonObject {
  const targets = targetEntries(values.targets);
  const isChat = values.kind === "chat";
  return withValues(before, {
    id: values.id.trim(),
    aliases: values.aliases.length > 0 ? [...values.aliases] : undefined,
    family: values.family.trim(),
    kind: values.kind,
    vendor: wordsOf(values.vendor),
    context_window: numberOf(values.contextWindow),
    max_output_tokens: numberOf(values.maxOutputTokens),
    dimensions: values.kind === "embedding" ? numberOf(values.dimensions) : undefined,
    created: wordsOf(values.created),
    completions: isChat ? wordsOf(values.completions) : undefined,
    sticky: booleanOf(values.sticky),
    reasoning: isChat ? booleanOf(values.reasoning) : undefined,
    price: priceEntry(values.price),
    targets: targets.length > 0 ? targets : undefined,
  });
}
