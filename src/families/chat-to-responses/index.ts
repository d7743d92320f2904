/**
 * Chat completions over an upstream that is asked for responses, because it has nothing else or its model demands it.
 *
 * Translated: messages with text, images, files, tool calls and sealed reasoning; function and custom tools and the
 * choice among them; the output bound, sampling, formats, reasoning effort, log probabilities, and keys that both
 * have. Dropped and named: penalties, `seed`, `stop`, `logit_bias`, `prediction`, `store`, reasoning of another
 * vendor, unknown keys. Refused: `n` above 1 and audio.
 *
 * The answer has chat's words only. Its id is the gateway's, its model the one that the upstream names.
 */

import type { DescMessage } from "@bufbuild/protobuf";
import { ChatCompletionSchema } from "../../../gen/modelgateway/v1/chat_pb.ts";
import {
  CreateResponseRequestSchema,
  type ModelResponseSchema,
  type ResponseStreamEventSchema,
} from "../../../gen/modelgateway/v1/responses_pb.ts";
import type { Answer, Frames } from "../../call/call.ts";
import type { Form, Output } from "../../call/operations.ts";
import { makerOf } from "../../providers/profile/reasoning-seal.ts";
import { asksForUsage } from "../../providers/usage/write-usage.ts";
import { Wire } from "../../wire/wire.ts";
import { Dropped } from "../dropped.ts";
import type { Translation } from "../translation.ts";
import { chatCompletion } from "./answer/answer.ts";
import type { AnswerContext } from "./answer/parts.ts";
import { chunksOf } from "./answer/stream.ts";
import { responseRequest } from "./request/request.ts";

/** Paths of a request for a response that have another name in chat; undefined where chat has none. */
const paths: ReadonlyMap<string, string | undefined> = new Map([
  ["reasoning", "reasoning_effort"],
  ["reasoning.effort", "reasoning_effort"],
  ["max_output_tokens", "max_completion_tokens"],
  ["include", undefined],
  ["include[message.output_text.logprobs]", "logprobs"],
  ["store", undefined],
  ["truncation", undefined],
]);

export const chatToResponses: Translation<"chat", "responses"> = {
  from: "chat",
  to: "responses",
  callersPath(path) {
    if (path.startsWith("input")) return undefined;
    return paths.has(path) ? paths.get(path) : path;
  },
  *translate(request, context) {
    const chat = request.json();
    const dropped = new Dropped();
    const json = yield* responseRequest(chat, context, dropped);
    const answerContext: AnswerContext = {
      id: `chatcmpl-${context.answerId}`,
      created: context.now,
      model: typeof chat.model === "string" ? chat.model : "",
      maker: makerOf(context.reasoningItems?.upstream ?? ""),
      isLegacy: Array.isArray(chat.functions) && chat.functions.length > 0,
      includeUsage: asksForUsage(chat),
    };
    return {
      request: Wire.ofJson(CreateResponseRequestSchema, json),
      dropped: yield* dropped.inOrderOf(request),
      answer: <F extends Form>(answer: Answer<Output<"responses", F>>) =>
        translateAnswer(answer, answerContext) as Answer<Output<"chat", F>>,
    };
  },
};

/** The form of the answer is the one asked for, which types cannot express of a branch. */
function translateAnswer(answer: Answer, answerContext: AnswerContext): Answer<DescMessage> {
  if (answer.kind === "whole") {
    const response = (answer.body as Wire<typeof ModelResponseSchema>).json();
    return { kind: "whole", body: Wire.ofJson(ChatCompletionSchema, chatCompletion(response, answerContext), true) };
  }
  return { kind: "stream", frames: chunksOf(answer.frames as Frames<typeof ResponseStreamEventSchema>, answerContext) };
}
