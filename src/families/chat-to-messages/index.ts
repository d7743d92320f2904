/**
 * Chat completions over an upstream that speaks the Messages API.
 *
 * Translated: messages with text, images, files, signed thinking and tool calls; function and custom tools and the
 * choice among them; the output bound, sampling, stop texts, JSON formats, reasoning effort, the end user, and
 * members of the Messages API that callers add. Dropped and named: what the Messages API has no counterpart for
 * (penalties, `seed`, `logit_bias`, `store`, unsigned reasoning, unknown keys). Refused: `n` above 1, `logprobs`,
 * audio, files that only another vendor has.
 *
 * The answer has chat's words only. Its id is the gateway's, its model the one that the upstream names.
 */
import { ChatCompletionSchema, type CreateChatCompletionRequest } from "../../../gen/modelgateway/v1/chat_pb.ts";
import { CreateMessageRequestSchema } from "../../../gen/modelgateway/v1/messages_pb.ts";
import { callersName } from "../../call/request/servers-words.ts";
import { Wire } from "../../wire/wire.ts";
import { inChatsWords } from "../foreign-bodies/chats-words.ts";
import { Dropped } from "../paths/dropped.ts";
import { byPrefix } from "../paths/prefixes.ts";
import { readAnswer } from "../read-message.ts";
import { byForm, type Translation } from "../translation.ts";
import { chatCompletion } from "./answer/answer.ts";
import type { AnswerContext } from "./answer/parts.ts";
import { chunksOf } from "./answer/stream.ts";
import { messageRequest } from "./request/request.ts";

/** Settings of the Messages API that have another name in chat. */
const settings: ReadonlyMap<string, string> = new Map([
  ["thinking", "reasoning_effort"],
  ["thinking.budget_tokens", "reasoning_effort"],
  ["output_config.effort", "reasoning_effort"],
  ["output_config.format", "response_format"],
  ["output_config.format.schema", "response_format.json_schema.schema"],
  ["stop_sequences", "stop"],
  ["metadata.user_id", "user"],
  ["system", "messages"],
]);

/** callersPath keeps the path of what a chat caller said in the words of the Messages API. */
function callersPath(path: string, { extra }: CreateChatCompletionRequest): string {
  const [member = ""] = path.split(/[.[]/, 1);
  if (Object.hasOwn(extra ?? {}, member)) return path;
  return byPrefix(path, settings) ?? path.replace(/^(tools\[\d+\])\.input_schema\b/, "$1.function.parameters");
}

export const chatToMessages: Translation<"chat", "messages"> = {
  from: "chat",
  to: "messages",
  *translate(request, context) {
    const { request: usual, names, beside } = inChatsWords(request);
    const chat = usual.message();
    const dropped = new Dropped(beside);
    const { json, called } = yield* messageRequest(chat, context, dropped);
    const answerContext: AnswerContext = {
      id: `chatcmpl-${context.answerId}`,
      created: context.now,
      model: chat.model ?? "",
      called,
      includeUsage: chat.streamOptions?.includeUsage === true,
    };
    return {
      request: Wire.ofJson(CreateMessageRequestSchema, json),
      dropped: yield* dropped.named(names).inOrderOf(request),
      callersPath: (path) => callersName(callersPath(path, chat), names),
      answer: byForm<"chat", "messages">(
        (body) => Wire.ofJson(ChatCompletionSchema, chatCompletion(readAnswer(body), body.json().usage, answerContext)),
        (frames) => chunksOf(frames, answerContext),
      ),
    };
  },
};
