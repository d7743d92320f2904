/**
 * A chat completion → a text completion: its choices with their finish reasons, and the usage.
 *
 * An answer without a choice is the upstream's failure: clients read the first one unchecked.
 */
import type { ChatCompletionSchema, Choice } from "../../../../gen/modelgateway/v1/chat_pb.ts";
import { CompletionSchema } from "../../../../gen/modelgateway/v1/completions_pb.ts";
import { upstreamFailed } from "../../../call/refusals.ts";
import type { JsonObject } from "../../../wire/json.ts";
import { Wire } from "../../../wire/wire.ts";
import { ChatUsageTracker } from "../../chat-usage.ts";
import { finishOf } from "../../finish-words.ts";
import type { AnswerContext } from "../request/request.ts";
import { completionChoice, finishWord, headOf, textOf } from "./choice.ts";
import { textLogProbs } from "./logprobs.ts";
import { usageJson } from "./usage.ts";

export function wholeCompletion(
  answer: Wire<typeof ChatCompletionSchema>,
  context: AnswerContext,
): Wire<typeof CompletionSchema> {
  const completion = answer.message();
  const { choices, usage } = completion;
  if (choices.length === 0) throw upstreamFailed("its answer is empty");
  const counted = new ChatUsageTracker();
  counted.take(answer, usage);
  const json = {
    ...headOf(completion, context),
    choices: choices.map((choice) => wholeChoice(choice, context)),
    ...(counted.hasUsage ? { usage: usageJson(counted, usage, context) } : {}),
  };
  return Wire.ofJson(CompletionSchema, json, true);
}

function wholeChoice(choice: Choice, { echo, muted }: AnswerContext): JsonObject {
  const { index, message, logprobs } = choice;
  if (muted) return completionChoice(index, echo, null, "length");
  const { json } = textLogProbs(logprobs, [...echo].length);
  return completionChoice(index, echo + textOf(message), json, finishWord(finishOf(choice)));
}
