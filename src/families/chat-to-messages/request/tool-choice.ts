/**
 * `tool_choice`, `function_call` and `parallel_tool_calls` → the Messages API's `tool_choice`, and the tools to choose from.
 *
 * A choice that names no given tool is refused. `allowed_tools` narrows the tools offered.
 */
import {
  type AllowedTools,
  type CreateChatCompletionRequest,
  type NamedToolChoice,
  ToolChoiceMode,
} from "../../../../gen/modelgateway/v1/chat_pb.ts";
import { invalidValue } from "../../../call/refusals.ts";
import type { JsonObject } from "../../../wire/json.ts";
import type { Dropped } from "../../paths/dropped.ts";
import { upstreamName } from "../tool-names.ts";
import type { Toolbox } from "./tools.ts";

export interface Choice {
  readonly tools: readonly JsonObject[];
  /** The caller's choice; undefined where the caller leaves it to the API. */
  readonly json: JsonObject | undefined;
}

interface RequestedChoice {
  readonly type: "auto" | "any" | "none" | "tool" | undefined;
  readonly name?: string;
  /** The upstream names of the only tools that may be called. */
  readonly allowed?: ReadonlySet<string>;
}

export function choiceOf(request: CreateChatCompletionRequest, box: Toolbox, dropped: Dropped): Choice {
  const requested = box.legacy ? legacyChoice(request, box) : requestedChoice(request, box, dropped);
  if (!box.legacy && request.functionCall.case !== undefined) dropped.add("function_call");
  if (box.legacy && request.toolChoice.case !== undefined) dropped.add("tool_choice");
  const tools = [...box.offered].filter(([name]) => requested.allowed?.has(name) ?? true).map(([, json]) => json);
  if (tools.length === 0) return { tools, json: undefined };
  const single = box.legacy || request.parallelToolCalls === false;
  if (requested.type === undefined && !single) return { tools, json: undefined };
  const json: JsonObject = { type: requested.type ?? "auto" };
  if (requested.name !== undefined) json.name = requested.name;
  if (single && json.type !== "none") json.disable_parallel_tool_use = true;
  return { tools, json };
}

/** isForced reports whether the model must call a tool. */
export function isForced(choice: JsonObject | undefined): boolean {
  return choice?.type === "any" || choice?.type === "tool";
}

function requestedChoice({ toolChoice }: CreateChatCompletionRequest, box: Toolbox, dropped: Dropped): RequestedChoice {
  if (toolChoice.case !== "toolChoiceNamed") return modeChoice(toolChoice.value, box, "tool_choice");
  const choice = toolChoice.value;
  if (choice.allowedTools) return allowedChoice(choice.allowedTools, box, dropped);
  dropped.addExtra(choice.extra, "tool_choice", ["name", "type"]);
  const name = nameIn(choice);
  if (name !== undefined) return namedChoice(name, box, "tool_choice");
  dropped.add("tool_choice");
  return { type: undefined };
}

function legacyChoice({ functionCall }: CreateChatCompletionRequest, box: Toolbox): RequestedChoice {
  if (functionCall.case !== "functionCallNamed") return modeChoice(functionCall.value, box, "function_call");
  return namedChoice(functionCall.value.name ?? "", box, "function_call");
}

function allowedChoice({ mode, tools, extra }: AllowedTools, box: Toolbox, dropped: Dropped): RequestedChoice {
  const path = "tool_choice.allowed_tools";
  dropped.addExtra(extra, path);
  const names = tools.map((tool) => upstreamName(nameIn(tool) ?? "")).filter((name) => box.offered.has(name));
  if (names.length === 0) throw invalidValue(path, "it names no tool that is given");
  return { ...modeChoice(mode, box, path), allowed: new Set(names) };
}

function modeChoice(mode: ToolChoiceMode | undefined, box: Toolbox, path: string): RequestedChoice {
  switch (mode) {
    case ToolChoiceMode.NONE:
      return { type: "none" };
    case ToolChoiceMode.AUTO:
      return { type: "auto" };
    case ToolChoiceMode.REQUIRED:
      if (box.offered.size === 0) throw invalidValue(path, "a tool is required, but none is given");
      return { type: "any" };
  }
  return { type: undefined };
}

function namedChoice(name: string, box: Toolbox, path: string): RequestedChoice {
  const upstream = upstreamName(name);
  if (!box.offered.has(upstream)) throw invalidValue(path, "it names no tool that is given");
  return { type: "tool", name: upstream };
}

/** nameIn returns the chosen tool's name. Some callers write it beside the type, as the Responses API does. */
function nameIn({ function: called, custom, extra }: NamedToolChoice): string | undefined {
  return called?.name ?? custom?.name ?? (typeof extra?.name === "string" ? extra.name : undefined);
}
