/** What a translation knows besides the request. */
import type { TranslationContext } from "../../../src/families/translation.ts";

/** context is that of a call which is answered whole, over a model of which nothing is known. */
export const context: TranslationContext = {
  form: "whole",
  maxOutputTokens: undefined,
  answerId: "a",
  now: 1,
  estimateTokens: () => 0,
};
