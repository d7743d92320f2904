/**
 * The Messages API over a chat model.
 *
 * Translated: the system prompt, turns with text, images, documents, search results, tool calls and results, those of
 * vendors' tools included; functions, tools that the caller runs by their type, web search, and the choice among tools;
 * the output bound, sampling, up to four stop texts, formats, thinking as reasoning effort, the end user, compaction.
 * Dropped and named: signed and redacted thinking of other vendors, cache marks that the server does not take, unknown keys. Refused: images and
 * files that only the vendor has, tools that only the vendor runs, a stored thread.
 *
 * The answer has every key that clients know, and a stream's blocks follow one another. An unreadable answer, and a
 * stream without a finish reason, are the upstream's failure.
 */
import { create } from "@bufbuild/protobuf";
import { type ReasoningEffort, ReasoningEffortSchema } from "../../../gen/modelgateway/v1/chat_pb.ts";
import { type CreateMessageRequest, OutputConfigSchema } from "../../../gen/modelgateway/v1/messages_pb.ts";
import { operations } from "../../call/operations.ts";
import { effortOfTurns, type TurnEffort } from "../../call/request/turn-efforts.ts";
import type { JsonValue } from "../../wire/json.ts";
import { enumWords } from "../../wire/plan.ts";
import { Wire } from "../../wire/wire.ts";
import { byForm, type Translation } from "../translation.ts";
import { messageOf } from "./answer/answer.ts";
import { eventsOf } from "./answer/stream.ts";
import { callersPath } from "./callers-path.ts";
import { asksToCompact } from "./compaction.ts";
import { droppedOf } from "./request/dropped.ts";
import { chatRequestOf, stopsOf } from "./request/request.ts";
import { ToolNames } from "./tool-names.ts";

const ownEffort = "output_config.effort";

function effortPath({ turn }: TurnEffort): string {
  return `messages[${turn}].${ownEffort}`;
}

const { numbers: efforts } = enumWords(ReasoningEffortSchema);

/** withEffort returns a request with the effort that its turns ask for; without any where that is an unknown one. */
function withEffort(request: CreateMessageRequest, effort: JsonValue): CreateMessageRequest {
  const known = typeof effort === "string" ? (efforts.get(effort) as ReasoningEffort | undefined) : undefined;
  const outputConfig = create(OutputConfigSchema, { ...request.outputConfig });
  if (known === undefined) delete outputConfig.effort;
  else outputConfig.effort = known;
  return { ...request, outputConfig };
}

export const messagesToChat: Translation<"messages", "chat"> = {
  from: "messages",
  to: "chat",
  *translate(request, context) {
    const json = request.json();
    const ofTurns = Array.isArray(json.messages) ? effortOfTurns(json.messages) : undefined;
    const asked = ofTurns ? withEffort(request.message(), ofTurns.effort) : request.message();
    const names = new ToolNames();
    const [omitted, marks] = [new Set<string>(), new Set<string>()];
    const chat = yield* chatRequestOf(asked, context, names, { omitted, marks });
    if (ofTurns && omitted.has(ownEffort)) omitted.add(effortPath(ofTurns));
    const asks = Wire.ofJson(operations.chat.input, chat);
    const { answerId, target } = context;
    const compacts = asksToCompact(asked);
    const answerContext = { answerId, model: asked.model ?? "", stops: stopsOf(asked), names, target, compacts };
    return {
      request: asks,
      dropped: yield* droppedOf(json, { omitted, marks }),
      callersPath: (path) => {
        const known = callersPath(path, json, chat);
        return known === ownEffort && ofTurns ? effortPath(ofTurns) : known;
      },
      answer: byForm<"messages", "chat">(
        (body) => messageOf(body, answerContext),
        (frames) => eventsOf(frames, answerContext, context.estimateTokens(asks)),
      ),
    };
  },
};
