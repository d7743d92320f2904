/**
 * Legacy text completions over a chat model.
 *
 * Translated: one prompt of text, which becomes a user's message; the output bound, sampling, stop texts, log
 * probabilities, and keys that both have. `echo` is served here: the prompt comes first in the text. Dropped and
 * named: `suffix`, `best_of`, `logit_bias`, and keys of chat that would change the question. Refused: prompts as
 * tokens. Several prompts are called one by one before this translation, and joined by `answer/join.ts`.
 */
import { byForm, type Translation } from "../translation.ts";
import { wholeCompletion } from "./answer/answer.ts";
import { completionFrames } from "./answer/stream.ts";
import { chatRequest } from "./request/request.ts";

export const completionsToChat: Translation<"completions", "chat"> = {
  from: "completions",
  to: "chat",
  *translate(request, context) {
    const { chat, dropped, context: answerContext } = yield* chatRequest(request, context);
    return {
      request: chat,
      dropped,
      // All messages are made from the prompt.
      callersPath: (path) => (path.startsWith("messages") ? "prompt" : path),
      answer: byForm<"completions", "chat">(
        (body) => wholeCompletion(body, answerContext),
        (frames) => completionFrames(frames, answerContext),
      ),
    };
  },
};
