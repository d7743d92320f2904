/** The context of translations in tests: a call that is answered whole, over a model of which nothing is known. */
import type { TranslationContext } from "../../../src/families/translation.ts";

/** context is that of a call which is answered whole, over a model of which nothing is known. */
export const context: TranslationContext = {
  form: "whole",
  maxOutputTokens: undefined,
  answerId: "a",
  now: 1,
  estimateTokens: () => 0,
};
