/**
 * Completions whose server answers as to a chat → completions as clients read them: the message of a choice, or its next part, is its text.
 * An answer that needs no change passes unchanged.
 */
import { AssistantMessageSchema } from "../../../gen/modelgateway/v1/chat_pb.ts";
import type { CompletionSchema } from "../../../gen/modelgateway/v1/completions_pb.ts";
import type { Answer } from "../../call/call.ts";
import { isObject, type JsonValue, mappedList } from "../../wire/json.ts";
import { readMessage } from "../../wire/read.ts";
import type { Wire } from "../../wire/wire.ts";
import { translateStream } from "../translate-stream.ts";
import { textOf } from "./answer/choice.ts";

type Completion = Wire<typeof CompletionSchema>;

export function withTexts(answer: Answer<typeof CompletionSchema>): Answer<typeof CompletionSchema> {
  if (answer.kind === "whole") return { ...answer, body: ofTexts(answer.body) };
  return { ...answer, frames: translateStream(answer.frames, (chunk) => [ofTexts(chunk)]) };
}

function ofTexts(completion: Completion): Completion {
  const { choices, object } = completion.json();
  if (!Array.isArray(choices)) return completion;
  const texts = mappedList(choices, ofText);
  // A usage behind the choices has none.
  const isOfChat = typeof object === "string" && object.startsWith("chat.");
  return texts === choices && !isOfChat ? completion : completion.with({ object: "text_completion", choices: texts });
}

function ofText(choice: JsonValue): JsonValue {
  if (!isObject(choice) || typeof choice.text === "string") return choice;
  const { message, delta, ...rest } = choice;
  const content = message ?? delta;
  if (!isObject(content)) return choice;
  return { ...rest, text: textOf(readMessage(AssistantMessageSchema, content, { lenient: true })) };
}
