/**
 * The prompt of a completion as the one text that a chat message can hold.
 *
 * A missing prompt, an empty list and empty tokens are the empty text. Several prompts are refused, because a chat call
 * goes on with one conversation; so are tokens, because they are no text without the tokenizer of the model they
 * were made for, and another's would make another text of them.
 */
import type { CreateCompletionRequest } from "../../../gen/modelgateway/v1/completions_pb.ts";
import { invalidValue } from "../../errors.ts";

/** Throws a Refusal. */
export function promptText(prompt: CreateCompletionRequest["prompt"]): string {
  if (prompt.case !== "promptList") return prompt.value ?? "";
  const items = prompt.value.items.map(({ item }) => item);
  if (items.some((item) => item.case === "token" || (item.case === "tokens" && item.value.tokens.length > 0))) {
    throw invalidValue("prompt", "this model is a chat model, which reads text and no tokens; send the prompt as text");
  }
  if (items.length > 1) {
    throw invalidValue("prompt", "this model is a chat model, which serves one prompt a call; send a call for each");
  }
  return items[0]?.case === "text" ? items[0].value : "";
}
