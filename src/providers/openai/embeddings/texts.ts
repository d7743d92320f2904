/**
 * Inputs as tokens at a server that takes texts alone. LangChain writes each text as tokens of OpenAI's models, whatever the model is; most other
 * servers refuse them, or answer without vectors. Such a server is asked again for the texts that they are. Tokens of another vocabulary cannot be
 * told from these: a server that takes tokens gets them as they came.
 *
 * Sources: https://github.com/langchain-ai/langchain/issues/21318, https://github.com/NorthlandPositronics/Cogtrix/pull/2069,
 * https://github.com/veniceai/api-docs/pull/423
 */
import { setImmediate } from "node:timers/promises";
import type { JsonValue } from "@bufbuild/protobuf";
import { Refusal } from "../../../call/refusals.ts";
import { loadDecoder } from "../../../tokens/decoder.ts";
import type { Attempt, Speak } from "../../contract.ts";
import { lacksVectors } from "../../frames/vectors.ts";

/** inTexts returns a function that speaks so. It throws a Refusal. */
export function inTexts(speak: Speak<"embeddings">): Speak<"embeddings"> {
  const ask = async (attempt: Attempt<"embeddings">) => {
    try {
      return await speak(attempt);
    } catch (error) {
      const texts = isOfForm(error) ? await textsOf(attempt) : undefined;
      if (!texts) throw error;
      return speak({ ...attempt, request: attempt.request.with({ input: texts }) });
    }
  };
  return ask as Speak<"embeddings">;
}

/** isOfForm reports a failure that may be for the form of the inputs: some servers read tokens as nothing at all. */
function isOfForm(error: unknown): boolean {
  if (!(error instanceof Refusal)) return false;
  const { status, message, fault } = error;
  return fault === lacksVectors || ((status === 400 || status === 422) && saysText.test(message));
}

/** How servers say that an input is a text: by its type, by its member, or by what they got. */
const saysText =
  /\binputs?\b|\bstr(?:ing)?s?\b|\btexts?\b|\btokens? (?:ids?|arrays?|lists?)\b|\b(?:int|number|integer|array)\b/i;

/** The most tokens of one text that are looked into: it is decoded at one go. No model of vectors takes as many. */
const mostTokens = 32_768;
/** Tokens of several texts between two yields. */
const tokensPerSlice = 65_536;

/** textsOf returns the inputs with each as a text; undefined where none is of tokens, or they are no tokens of OpenAI's. */
async function textsOf({ request, signal }: Attempt<"embeddings">): Promise<JsonValue | undefined> {
  const { input } = request.json();
  if (!Array.isArray(input)) return undefined;
  const isOne = typeof input[0] === "number";
  if (!isOne && !input.some(Array.isArray)) return undefined;
  const decode = await loadDecoder();
  const texts: string[] = [];
  let since = 0;
  for (const item of isOne ? [input] : input) {
    const text = typeof item === "string" ? item : decodedBy(decode, item);
    if (text === undefined) return undefined;
    texts.push(text);
    since += Array.isArray(item) ? item.length : 0;
    if (since < tokensPerSlice) continue;
    since = 0;
    await setImmediate();
    if (signal.aborted) return undefined;
  }
  return isOne ? (texts[0] as string) : texts;
}

function decodedBy(decode: (tokens: readonly number[]) => string | undefined, item: JsonValue): string | undefined {
  if (!Array.isArray(item) || item.length > mostTokens) return undefined;
  return decode(item as number[]);
}
