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

import { ChatCompletionSchema } from "../../../gen/modelgateway/v1/chat_pb.ts";
import { CreateResponseRequestSchema } from "../../../gen/modelgateway/v1/responses_pb.ts";
import { makerOf } from "../../providers/profile/reasoning-seal.ts";
import { asksForUsage } from "../../providers/usage/write-usage.ts";
import { textOrEmpty } from "../../wire/json.ts";
import { Wire } from "../../wire/wire.ts";
import { Dropped } from "../dropped.ts";
import { byForm, type Translation } from "../translation.ts";
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
      model: textOrEmpty(chat.model),
      maker: makerOf(context.reasoningItems?.upstream ?? ""),
      isLegacy: Array.isArray(chat.functions) && chat.functions.length > 0,
      includeUsage: asksForUsage(chat),
    };
    return {
      request: Wire.ofJson(CreateResponseRequestSchema, json),
      dropped: yield* dropped.inOrderOf(request),
      answer: byForm<"chat", "responses">(
        (body) => Wire.ofJson(ChatCompletionSchema, chatCompletion(body.json(), answerContext), true),
        (frames) => chunksOf(frames, answerContext),
      ),
    };
  },
};
