/**
 * From responses to chat completions: for models whose upstream has no responses of its own, or does not know all that the
 * request says.
 *
 * It knows nothing of what is kept: references to earlier responses and items have been resolved before. What a chat
 * model cannot be told is left out and named; what it must not do without is refused with its path.
 */
import type { DescMessage } from "@bufbuild/protobuf";
import type { ChatCompletionChunkSchema, ChatCompletionSchema } from "../../../gen/modelgateway/v1/chat_pb.ts";
import type { Answer, Frames } from "../../call/call.ts";
import type { Form, Output } from "../../call/operations.ts";
import type { Wire } from "../../wire/wire.ts";
import { Dropped } from "../dropped.ts";
import type { Translation } from "../translation.ts";
import { responseOf } from "./answer/answer.ts";
import { type AnswerContext, answerContextOf } from "./answer/response.ts";
import { eventsOf } from "./answer/stream.ts";
import { chatRequestOf } from "./request/request.ts";
import { toolsetOf } from "./request/tools.ts";

/** Keys of a chat request that responses call otherwise. */
const paths: ReadonlyMap<string, string> = new Map([
  ["reasoning_effort", "reasoning.effort"],
  ["verbosity", "text.verbosity"],
  ["response_format", "text.format"],
  ["response_format.json_schema", "text.format.schema"],
  ["logprobs", "include"],
]);

export const responsesToChat: Translation<"responses", "chat"> = {
  from: "responses",
  to: "chat",
  callersPath: (path) => (path.startsWith("messages") ? undefined : (paths.get(path) ?? path)),
  *translate(request, context) {
    const dropped = new Dropped();
    const tools = yield* toolsetOf(request.message(), context.customTools, dropped);
    const chat = yield* chatRequestOf(request, tools, context, dropped);
    const answerContext = answerContextOf(request, context, tools.names);
    return {
      request: chat,
      dropped: yield* dropped.inOrderOf(request),
      answer: <F extends Form>(answer: Answer<Output<"chat", F>>) =>
        translateAnswer(answer, answerContext) as Answer<Output<"responses", F>>,
    };
  },
};

/** The form of the answer is the one asked for, which types cannot say of a branch. */
function translateAnswer(answer: Answer, answerContext: AnswerContext): Answer<DescMessage> {
  if (answer.kind === "whole") {
    return { kind: "whole", body: responseOf(answer.body as Wire<typeof ChatCompletionSchema>, answerContext) };
  }
  return { kind: "stream", frames: eventsOf(answer.frames as Frames<typeof ChatCompletionChunkSchema>, answerContext) };
}
