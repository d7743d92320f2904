/**
 * Chat over a server of chat that takes no tools but functions.
 *
 * A custom tool becomes a function of one text, and its calls come back as custom ones. Of a list of those tools that may be
 * called now, these alone are offered. All else passes as it came. Dropped and named: the grammar of a custom tool, which
 * the model is told.
 */
import type { DescMessage } from "@bufbuild/protobuf";
import type { ChatCompletionChunkSchema, ChatCompletionSchema } from "../../../gen/modelgateway/v1/chat_pb.ts";
import type { Answer, Frames } from "../../call/call.ts";
import type { Form, Output } from "../../call/operations.ts";
import type { Wire } from "../../wire/wire.ts";
import type { Translation } from "../translation.ts";
import { customFrames, withCustomCalls } from "./answer.ts";
import { functionsOnly } from "./request.ts";

export const toolsAsFunctions: Translation<"chat", "chat"> = {
  from: "chat",
  to: "chat",
  callersPath: (path) => path,
  *translate(request) {
    const { changes, custom, dropped } = yield* functionsOnly(request.json());
    return {
      request: request.isLong ? request.rebuiltWith(changes) : request.with(changes),
      dropped,
      answer: <F extends Form>(answer: Answer<Output<"chat", F>>) =>
        translateAnswer(answer, custom) as Answer<Output<"chat", F>>,
    };
  },
};

/** The form of the answer is the one asked for, which types cannot express of a branch. */
function translateAnswer(answer: Answer, custom: ReadonlySet<string>): Answer<DescMessage> {
  if (custom.size === 0) return answer;
  if (answer.kind === "whole") {
    return { ...answer, body: withCustomCalls(answer.body as Wire<typeof ChatCompletionSchema>, custom) };
  }
  return { ...answer, frames: customFrames(answer.frames as Frames<typeof ChatCompletionChunkSchema>, custom) };
}
