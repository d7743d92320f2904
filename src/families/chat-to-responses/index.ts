/**
 * Chat completions over an upstream that is asked for responses, because it has nothing else or its model demands it.
 *
 * Translated: messages with text, images, files, tool calls and sealed reasoning; function and custom tools and the
 * choice among them; the output bound, sampling, formats, reasoning effort, log probabilities, and keys that both
 * have. Dropped and named: penalties, `seed`, `stop`, `logit_bias`, `prediction`, `store`, answers in sound, reasoning of
 * another vendor, unknown keys. Refused: `n` above 1, and sounds that the model would have to hear.
 *
 * The answer has chat's words only. Its id is the gateway's, its model the one that the upstream names.
 */

import { ChatCompletionSchema } from "../../../gen/modelgateway/v1/chat_pb.ts";
import { CreateResponseRequestSchema } from "../../../gen/modelgateway/v1/responses_pb.ts";
import { callersName } from "../../call/request/servers-words.ts";
import { makerOf } from "../../providers/profile/reasoning-seal.ts";
import { asksForUsage } from "../../providers/usage/write-usage.ts";
import { type JsonObject, textOrEmpty } from "../../wire/json.ts";
import { Wire } from "../../wire/wire.ts";
import { inChatsWords } from "../foreign-bodies/chats-words.ts";
import { Dropped } from "../paths/dropped.ts";
import { originOf } from "../paths/origins.ts";
import { byPrefix } from "../paths/prefixes.ts";
import { byForm, type Translation } from "../translation.ts";
import { chatCompletion } from "./answer/answer.ts";
import type { AnswerContext } from "./answer/parts.ts";
import { chunksOf } from "./answer/stream.ts";
import { responseRequest } from "./request/request.ts";

/** Settings of a request for a response that have another name in chat. */
const settings: ReadonlyMap<string, string> = new Map([
  ["reasoning", "reasoning_effort"],
  ["reasoning.effort", "reasoning_effort"],
  ["text.verbosity", "verbosity"],
  ["text.format", "response_format"],
  ["text.format.schema", "response_format.json_schema.schema"],
  ["max_output_tokens", "max_completion_tokens"],
  ["include[message.output_text.logprobs]", "logprobs"],
]);

/** Settings that chat has not. */
const unsaid = /^(?:include|store|truncation)\b/;

/** callersPath takes the chat request and the request for a response it became. */
function callersPath(path: string, response: JsonObject): string | undefined {
  if (path.startsWith("input")) return undefined;
  const known = originOf(response, path, [[/^/, ""]]) ?? byPrefix(path, settings);
  return known ?? (unsaid.test(path) ? undefined : path);
}

export const chatToResponses: Translation<"chat", "responses"> = {
  from: "chat",
  to: "responses",
  *translate(request, context) {
    const { request: usual, names, beside } = inChatsWords(request);
    const chat = usual.json();
    const dropped = new Dropped(beside);
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
      dropped: yield* dropped.named(names).inOrderOf(request),
      callersPath: (path) => {
        const known = callersPath(path, json);
        return known === undefined ? undefined : callersName(known, names);
      },
      answer: byForm<"chat", "responses">(
        (body) => Wire.ofJson(ChatCompletionSchema, chatCompletion(body.json(), answerContext), true),
        (frames) => chunksOf(frames, answerContext),
      ),
    };
  },
};
