/**
 * One tool call of a streamed message → the deltas of a chat message: a tool call, a `function_call`, or the answer's
 * text.
 */
import type { ContentBlock } from "../../../../gen/modelgateway/v1/messages_pb.ts";
import { type JsonObject, parsedJson } from "../../../wire/json.ts";
import { type ArgumentNames, withNamesIn } from "../property-names.ts";
import type { OpenBlock, Progress } from "./block.ts";
import { type AnswerContext, calledTool, callId, freeText } from "./parts.ts";

/** CallDeltas makes the deltas of a call: its first one, and one for each piece of its input. */
interface CallDeltas {
  readonly first?: JsonObject;
  piece(text: string): JsonObject;
}

/** openCall returns undefined for a call that has no place in the answer. */
export function openCall(block: ContentBlock, progress: Progress, context: AnswerContext): OpenBlock | undefined {
  const { kind, name, argumentNames } = calledTool(block, context);
  if (kind === "custom") return openCustom(block, name, progress, context);
  const deltas = callDeltas(kind, block, name, progress, context);
  if (!deltas) return undefined;
  if (argumentNames) return openRenamed(block, deltas, argumentNames);
  let hasPieces = false;
  return {
    first: deltas.first,
    next({ partialJson = "" }) {
      if (partialJson === "") return undefined;
      hasPieces = true;
      return deltas.piece(partialJson);
    },
    // Some upstreams send the whole input at the start, and a call without arguments has no pieces.
    stop: () => (hasPieces ? undefined : deltas.piece(JSON.stringify(block.input ?? {}))),
  };
}

/** openRenamed opens a call whose arguments get other names, for which the whole of them is needed. */
function openRenamed(block: ContentBlock, deltas: CallDeltas, names: ArgumentNames): OpenBlock {
  let json = "";
  return {
    first: deltas.first,
    next({ partialJson = "" }) {
      json += partialJson;
      return undefined;
    },
    stop: () => deltas.piece(withNamesIn(json === "" ? JSON.stringify(block.input ?? {}) : json, names)),
  };
}

function callDeltas(
  kind: "function" | "function_call" | "text",
  block: ContentBlock,
  name: string,
  progress: Progress,
  context: AnswerContext,
): CallDeltas | undefined {
  if (kind === "function") {
    const index = progress.toolCalls++;
    const id = callId(block, index, context);
    return {
      first: { tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] },
      piece: (text) => ({ tool_calls: [{ index, function: { arguments: text } }] }),
    };
  }
  if (kind === "function_call") {
    if (progress.functionCalled) return undefined; // An answer has one `function_call`.
    progress.functionCalled = true;
    return {
      first: { function_call: { name, arguments: "" } },
      piece: (text) => ({ function_call: { arguments: text } }),
    };
  }
  if (progress.answered) return undefined;
  progress.answered = true;
  return { piece: (text) => ({ content: text }) };
}

function openCustom(block: ContentBlock, name: string, progress: Progress, context: AnswerContext): OpenBlock {
  const index = progress.toolCalls++;
  const id = callId(block, index, context);
  let json = "";
  return {
    first: { tool_calls: [{ index, id, type: "custom", custom: { name, input: "" } }] },
    next({ partialJson = "" }) {
      json += partialJson;
      return undefined;
    },
    stop() {
      const input = json === "" ? freeText(block.input ?? {}) : readFreeText(json);
      return input === "" ? undefined : { tool_calls: [{ index, custom: { input } }] };
    },
  };
}

/** readFreeText returns the text of the input. A model may be cut off inside its JSON: then the JSON itself is the text. */
function readFreeText(json: string): string {
  const input = parsedJson(json, true);
  return input === undefined ? json : freeText(input);
}
