/**
 * From the Messages API to chat completions: a caller of Anthropic's family, a model of OpenAI's.
 *
 * What a chat model cannot be told is left out and named by its public path; what it must not do without (an image
 * that only the vendor has, a tool that only the vendor runs) is refused with its path. The answer keeps the rules
 * of the Messages API to the letter: every key that its clients know is there, and a stream's blocks follow one
 * another. An answer that cannot be read, or a stream that ends without saying why, is the upstream's failure.
 */
import type { DescMessage } from "@bufbuild/protobuf";
import type { ChatCompletionChunkSchema, ChatCompletionSchema } from "../../../gen/modelgateway/v1/chat_pb.ts";
import type { Answer, Frames } from "../../call/call.ts";
import { type Form, type Output, operations } from "../../call/operations.ts";
import { Wire } from "../../wire/wire.ts";
import type { Translation } from "../translation.ts";
import { type AnswerContext, messageOf } from "./answer/answer.ts";
import { eventsOf } from "./answer/stream.ts";
import { droppedOf } from "./request/dropped.ts";
import { chatRequestOf, stopsOf } from "./request/request.ts";
import { ToolNames } from "./tool-names.ts";

/** Keys of a chat request by what they come of. */
const paths: ReadonlyMap<string, string> = new Map([
  ["temperature", "temperature"],
  ["top_p", "top_p"],
  ["stop", "stop_sequences"],
  ["tools", "tools"],
  ["tool_choice", "tool_choice"],
  ["parallel_tool_calls", "tool_choice.disable_parallel_tool_use"],
  ["reasoning_effort", "output_config.effort"],
  ["response_format", "output_config.format"],
  ["response_format.json_schema", "output_config.format.schema"],
  ["user", "metadata.user_id"],
  ["web_search_options", "tools.web_search"],
]);

export const messagesToChat: Translation<"messages", "chat"> = {
  from: "messages",
  to: "chat",
  callersPath: (path) => paths.get(path),
  *translate(request, context) {
    const asked = request.message();
    const names = new ToolNames();
    const omitted = new Set<string>();
    const chat = yield* chatRequestOf(asked, context, names, omitted);
    const asks = Wire.ofJson(operations.chat.input, chat);
    const { answerId, target } = context;
    const answerContext = { answerId, model: asked.model ?? "", stops: stopsOf(asked), names, target };
    return {
      request: asks,
      dropped: yield* droppedOf(request.json(), omitted),
      answer: <F extends Form>(answer: Answer<Output<"chat", F>>) =>
        translateAnswer(answer, answerContext, () => context.estimateTokens(asks)) as Answer<Output<"messages", F>>,
    };
  },
};

function translateAnswer(answer: Answer, answerContext: AnswerContext, estimate: () => number): Answer<DescMessage> {
  if (answer.kind === "whole") {
    return { kind: "whole", body: messageOf(answer.body as Wire<typeof ChatCompletionSchema>, answerContext) };
  }
  const frames = answer.frames as Frames<typeof ChatCompletionChunkSchema>;
  return { kind: "stream", frames: eventsOf(frames, answerContext, estimate()) };
}
