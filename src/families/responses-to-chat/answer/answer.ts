/**
 * A chat completion → a response: the one that the events of the same answer would end in.
 *
 * Only the first choice was asked for.
 */
import {
  type ChatCompletion,
  type ChatCompletionSchema,
  FinishReason,
} from "../../../../gen/modelgateway/v1/chat_pb.ts";
import { ModelResponseSchema } from "../../../../gen/modelgateway/v1/responses_pb.ts";
import { Wire } from "../../../wire/wire.ts";
import { messageIn, onlyChoice } from "../../chat-output.ts";
import { ChatUsageTracker } from "../../chat-usage.ts";
import { finishOf } from "../../finish-words.ts";
import { readAnswer } from "../../read-message.ts";
import { Compaction } from "../compaction.ts";
import { Output } from "./output.ts";
import { type AnswerContext, responseJson, usageJson } from "./response.ts";

export function responseOf(
  answer: Wire<typeof ChatCompletionSchema>,
  context: AnswerContext,
): Wire<typeof ModelResponseSchema> {
  const { model, choices, usage, serviceTier } = readAnswer<ChatCompletion>(answer);
  const choice = onlyChoice(choices);
  const output = outputOf(context);
  output.take(messageIn(choice), choice.logprobs);
  const counted = new ChatUsageTracker();
  counted.take(answer, usage);
  const { status, incomplete } = endOf(finishOf(choice), output);
  output.end(status);
  const progress = { status, incomplete, model, serviceTier, output: output.json(), usage: usageJson(counted) };
  return Wire.ofJson(ModelResponseSchema, responseJson(context, progress));
}

export function outputOf(context: AnswerContext): Output | Compaction {
  return context.compacts ? new Compaction(context.answerId) : new Output(context);
}

/**
 * endOf returns how the answer ended. A refusal is a complete answer, whatever the finish reason, and so is a summary, even one that was
 * cut off.
 */
export function endOf(finish: FinishReason | undefined, output: Output | Compaction) {
  const isWhole = { status: "completed", incomplete: undefined } as const;
  if (output instanceof Compaction) return isWhole;
  if (finish === FinishReason.LENGTH) return { status: "incomplete", incomplete: "max_output_tokens" } as const;
  if (finish !== FinishReason.CONTENT_FILTER || output.refused) return isWhole;
  return { status: "incomplete", incomplete: "content_filter" } as const;
}
