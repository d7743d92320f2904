/**
 * The prompts of a completion as texts that chat messages can hold.
 *
 * A missing prompt, an empty list and empty tokens are the empty text. Tokens are refused, for only the tokenizer
 * of the model they were made for could decode them, and so are objects.
 */
import type { CreateCompletionRequest } from "../../../../gen/modelgateway/v1/completions_pb.ts";
import { internal, invalidValue, type Refusal } from "../../../call/refusals.ts";

type Prompt = CreateCompletionRequest["prompt"];

/** promptTexts returns at least one text. Throws a Refusal. */
export function promptTexts(prompt: Prompt): readonly string[] {
  if (prompt.case === "promptTokens") return [textOf(prompt.value.tokens)];
  if (prompt.case !== "promptList") return [prompt.value ?? ""];
  const texts = prompt.value.items.map(({ item }) => {
    if (item.case === "part") throw noText();
    return item.case === "tokens" ? textOf(item.value.tokens) : (item.value ?? "");
  });
  return texts.length === 0 ? [""] : texts;
}

/** onlyPrompt returns the only prompt. Requests with several prompts were split before. Throws a Refusal. */
export function onlyPrompt(prompt: Prompt): string {
  const [text = "", ...others] = promptTexts(prompt);
  if (others.length > 0) throw internal(new Error("several prompts for one chat call"));
  return text;
}

function textOf(tokens: readonly number[]): string {
  if (tokens.length === 0) return "";
  throw noText();
}

function noText(): Refusal {
  return invalidValue("prompt", "this model is a chat model, which reads text and no tokens; send the prompt as text");
}
