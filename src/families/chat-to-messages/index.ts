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
import { ChatCompletionSchema } from "../../../gen/modelgateway/v1/chat_pb.ts";
import {
  CreateMessageRequestSchema,
  type MessageSchema,
  type MessageStreamEventSchema,
} from "../../../gen/modelgateway/v1/messages_pb.ts";
import type { Answer, Frames } from "../../call/call.ts";
import type { Form, Output } from "../../call/operations.ts";
import { Wire } from "../../wire/wire.ts";
import { Dropped } from "../dropped.ts";
import { readAnswer } from "../read-message.ts";
import type { Translation } from "../translation.ts";
import { chatCompletion } from "./answer/answer.ts";
import type { AnswerContext } from "./answer/parts.ts";
import { chunksOf } from "./answer/stream.ts";
import { messageRequest } from "./request/request.ts";

export const chatToMessages: Translation<"chat", "messages"> = {
  from: "chat",
  to: "messages",
  callersPath: (path) => path,
  *translate(request, context) {
    const chat = request.message();
    const dropped = new Dropped();
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
      dropped: yield* dropped.inOrderOf(request),
      answer: (answer) => translateAnswer(answer, answerContext),
    };
  },
};

function translateAnswer<F extends Form>(
  answer: Answer<Output<"messages", F>>,
  answerContext: AnswerContext,
): Answer<Output<"chat", F>> {
  // The form of the answer is the one asked for: F says which message it holds.
  const translated =
    answer.kind === "whole"
      ? { kind: answer.kind, body: wholeAnswer(answer.body as Wire<typeof MessageSchema>, answerContext) }
      : {
          kind: answer.kind,
          frames: chunksOf(answer.frames as Frames<typeof MessageStreamEventSchema>, answerContext),
        };
  return translated as Answer<Output<"chat", F>>;
}

function wholeAnswer(
  body: Wire<typeof MessageSchema>,
  answerContext: AnswerContext,
): Wire<typeof ChatCompletionSchema> {
  return Wire.ofJson(ChatCompletionSchema, chatCompletion(readAnswer(body), body.json().usage, answerContext));
}
