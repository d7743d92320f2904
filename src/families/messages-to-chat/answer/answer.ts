/**
 * A chat completion → a message, with every key that clients of the Messages API know.
 *
 * Only the first choice was asked for. Log probabilities and audio have no counterpart.
 */
import type { ChatCompletion, ChatCompletionSchema } from "../../../../gen/modelgateway/v1/chat_pb.ts";
import { MessageSchema } from "../../../../gen/modelgateway/v1/messages_pb.ts";
import { readToolInput } from "../../../call/tools/tool-input.ts";
import type { JsonObject } from "../../../wire/json.ts";
import { Wire } from "../../../wire/wire.ts";
import { sealedDetails, sealedSignature } from "../../call-signature.ts";
import { type ChatOutput, messageIn, onlyChoice, readChatOutput, summaryIn } from "../../chat-output.ts";
import { ChatUsageTracker } from "../../chat-usage.ts";
import { finishOf } from "../../finish-words.ts";
import { readAnswer } from "../../read-message.ts";
import type { Target } from "../../translation.ts";
import { compacted, compactionBlock } from "../compaction.ts";
import { ToolIds, type ToolNames } from "../tool-names.ts";
import { imageText, redactedBlock, signatureBlock, textBlock, thinkingBlock, toolUseBlock } from "./blocks.ts";
import { citationsIn, distinct } from "./citations.ts";
import { endingOf } from "./finish.ts";
import { usageOf } from "./usage.ts";

/** AnswerContext is what the translation of the answer needs from the request. */
export interface AnswerContext {
  readonly answerId: string;
  /** The requested model: used where the upstream does not name the one that answered. */
  readonly model: string;
  /** The stop texts sent to the upstream. */
  readonly stops: readonly string[];
  readonly names: ToolNames;
  readonly target: Target | undefined;
  /** compacts is whether the answer is the block that stands for the conversation. */
  readonly compacts: boolean;
}

export function messageOf(
  answer: Wire<typeof ChatCompletionSchema>,
  context: AnswerContext,
): Wire<typeof MessageSchema> {
  const { model, choices, usage } = readAnswer<ChatCompletion>(answer);
  const choice = onlyChoice(choices);
  const message = messageIn(choice);
  const output = readChatOutput(message);
  const citations = distinct(citationsIn(message?.annotations ?? []));
  const { refusal } = output;
  const counted = new ChatUsageTracker();
  counted.take(answer, usage);
  const end = { finish: finishOf(choice), extra: choice.extra, hasCalls: output.calls.length > 0, refusal };
  return Wire.ofJson(MessageSchema, {
    ...headOf(model, context),
    content: context.compacts ? [compactionBlock(summaryIn(output.text))] : contentOf(output, citations, context),
    ...(context.compacts ? compacted : endingOf(end, context.stops)),
    usage: usageOf(counted),
  });
}

/** headOf returns the members of a message at its start. */
export function headOf(model: string, context: AnswerContext): JsonObject {
  return {
    id: `msg_${context.answerId}`,
    type: "message",
    role: "assistant",
    model: model || context.model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    stop_details: null,
    container: null,
    diagnostics: null,
  };
}

function contentOf(
  { reasoning, sealed, text, refusal, calls, signature, details, signed, images }: ChatOutput,
  citations: JsonObject[],
  { answerId, names, target }: AnswerContext,
): JsonObject[] {
  const ids = new ToolIds(answerId, target);
  const textAndRefusal = text + refusal + images.map(imageText).join("");
  const wantedBack = [...details, ...signed];
  const thoughts = sealed.map(({ thinking, seal }) =>
    thinking === "" ? redactedBlock(seal) : thinkingBlock(thinking, seal),
  );
  return [
    ...(sealed.length === 0 && reasoning ? [thinkingBlock(reasoning)] : thoughts),
    ...(wantedBack.length > 0 ? [signatureBlock(sealedDetails(wantedBack, target))] : []),
    ...(textAndRefusal ? [textBlock(textAndRefusal, citations)] : []),
    ...(signature ? [signatureBlock(sealedSignature(signature, target))] : []),
    ...calls.map((call) => toolUseBlock(call, readToolInput(call.input), ids, names)),
  ];
}
