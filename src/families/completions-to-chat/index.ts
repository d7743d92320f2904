/**
 * Legacy text completions over a chat model.
 *
 * Translated: one prompt of text, which becomes a user's message; the output bound, sampling, stop texts, log
 * probabilities, and keys that both have. `echo` is served here: the prompt comes first in the text. Dropped and
 * named: `suffix`, `best_of`, `logit_bias`, and keys of chat that would change the question. Refused: prompts as
 * tokens. Several prompts are called one by one before this translation, and joined by `answer/join.ts`.
 */
import type { DescMessage } from "@bufbuild/protobuf";
import type { ChatCompletionChunkSchema, ChatCompletionSchema } from "../../../gen/modelgateway/v1/chat_pb.ts";
import type { Answer, Frames } from "../../call/call.ts";
import type { Form, Output } from "../../call/operations.ts";
import type { Wire } from "../../wire/wire.ts";
import type { Translation } from "../translation.ts";
import { wholeCompletion } from "./answer/answer.ts";
import { completionFrames } from "./answer/stream.ts";
import { type AnswerContext, chatRequest } from "./request/request.ts";

export const completionsToChat: Translation<"completions", "chat"> = {
  from: "completions",
  to: "chat",
  callersPath: (path) => (path.startsWith("messages") ? undefined : path),
  *translate(request, context) {
    const { chat, dropped, context: answerContext } = yield* chatRequest(request, context);
    return {
      request: chat,
      dropped,
      answer: <F extends Form>(answer: Answer<Output<"chat", F>>) =>
        translateAnswer(answer, answerContext) as Answer<Output<"completions", F>>,
    };
  },
};

/** The form of the answer is the one asked for, which types cannot express of a branch. */
function translateAnswer(answer: Answer, answerContext: AnswerContext): Answer<DescMessage> {
  if (answer.kind === "whole") {
    return { kind: "whole", body: wholeCompletion(answer.body as Wire<typeof ChatCompletionSchema>, answerContext) };
  }
  return {
    kind: "stream",
    frames: completionFrames(answer.frames as Frames<typeof ChatCompletionChunkSchema>, answerContext),
  };
}
