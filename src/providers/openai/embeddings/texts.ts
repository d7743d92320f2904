/**
 * Inputs as tokens at a server that takes texts alone. LangChain writes each text as tokens of OpenAI's models, whatever the model is; most
 * other servers refuse them, or answer without vectors. Such a server is asked again for the texts that they are. Tokens of another
 * vocabulary cannot be told from these: a server that takes tokens gets them as they came.
 *
 * Sources: https://github.com/langchain-ai/langchain/issues/21318, https://github.com/NorthlandPositronics/Cogtrix/pull/2069,
 * https://github.com/veniceai/api-docs/pull/423
 */
import type { JsonValue } from "@bufbuild/protobuf";
import { type CooperativeTask, endsSlice, runInSlices, runUntil } from "../../../runtime/cooperative.ts";
import { type Decode, loadDecoder } from "../../../tokens/decoder.ts";
import type { Attempt, Speak } from "../../contract.ts";
import { createAskAgain } from "./ask-again.ts";
import { isOfForm } from "./refused-inputs.ts";

/** inTexts returns a function that speaks so. It throws a Refusal. */
export function inTexts(speak: Speak<"embeddings">): Speak<"embeddings"> {
  const ask = async (attempt: Attempt<"embeddings">) => {
    const again = createAskAgain(attempt);
    try {
      return await speak(attempt);
    } catch (error) {
      const texts = isOfForm(error) ? await textsOf(attempt) : undefined;
      if (texts === undefined) throw error;
      return speak(await again(texts));
    }
  };
  return ask as Speak<"embeddings">;
}

/**
 * The most bytes of text for each token, on average. Ordinary text has four to five. Single tokens have up to 128, so that a small request
 * could become a great one, of which neither the hold nor the memory of bodies knows.
 */
const bytesPerToken = 8;
/** spareBytes may come on top: a short text may consist of long tokens. */
const spareBytes = 1024;

/** textsOf returns the inputs with each as a text; undefined where none is of tokens, or they are no tokens of OpenAI's, or too long. */
async function textsOf({ request, signal }: Attempt<"embeddings">): Promise<JsonValue | undefined> {
  const { input } = request.json();
  if (!Array.isArray(input)) return undefined;
  const isOne = typeof input[0] === "number";
  if (!isOne && !input.some(Array.isArray)) return undefined;
  const decode = await loadDecoder();
  let texts: string[] | undefined;
  const decoding = function* (): CooperativeTask<void> {
    texts = yield* textsIn(isOne ? [input] : input, decode);
  };
  await runInSlices(runUntil(decoding(), () => signal.aborted));
  return isOne ? texts?.[0] : texts;
}

function* textsIn(inputs: readonly JsonValue[], decode: Decode): CooperativeTask<string[] | undefined> {
  const tokens = inputs.reduce((sum: number, input) => sum + (Array.isArray(input) ? input.length : 0), 0);
  const room = { bytes: spareBytes + bytesPerToken * tokens };
  const texts: string[] = [];
  for (const [i, input] of inputs.entries()) {
    if (endsSlice(i)) yield;
    const text = Array.isArray(input) ? yield* decode(input, room) : input;
    if (typeof text !== "string") return undefined;
    texts.push(text);
  }
  return texts;
}
