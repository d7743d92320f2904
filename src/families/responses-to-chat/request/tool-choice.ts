/**
 * The choice among the offered tools. A choice that demands a vendor's own tool is dropped, as that tool is, and refused where the request
 * has no such tool.
 *
 * A namespaced tool is chosen by both names, or by `namespace.name`. Servers with basic tool support do not know
 * lists of allowed tools: they are offered those tools alone.
 */
import { ToolChoiceMode, ToolType } from "../../../../gen/modelgateway/v1/chat_pb.ts";
import type {
  CreateResponseRequest,
  ResponseTool,
  ResponseToolChoice,
} from "../../../../gen/modelgateway/v1/responses_pb.ts";
import { invalidValue, missingField } from "../../../call/refusals.ts";
import { definedFields, type JsonObject, type JsonValue } from "../../../wire/json.ts";
import type { Dropped } from "../../paths/dropped.ts";
import { clientTools } from "../client-tools.ts";
import type { Toolset } from "./tools.ts";

/** chosenTools returns `tools`, `tool_choice` and `parallel_tool_calls`, where there are any. Throws a Refusal. */
export function chosenTools(
  request: CreateResponseRequest,
  set: Toolset,
  customTools: boolean | undefined,
  dropped: Dropped,
): JsonObject {
  const { allowed, choice } = choiceOf(request, set, customTools, dropped);
  const tools = [...set.offered].filter(([name]) => allowed?.has(name) ?? true).map(([, tool]) => tool);
  if (tools.length > 0) {
    return definedFields({ tools, tool_choice: choice, parallel_tool_calls: request.parallelToolCalls });
  }
  // Without tools chat takes neither.
  if (choice !== undefined && choice !== "auto" && choice !== "none") dropped.add("tool_choice");
  return {};
}

interface Choice {
  readonly choice: JsonValue | undefined;
  /** The chat names of the only tools that are offered. */
  readonly allowed?: ReadonlySet<string>;
}

const modes: Readonly<Partial<Record<ToolChoiceMode, string>>> = {
  [ToolChoiceMode.NONE]: "none",
  [ToolChoiceMode.AUTO]: "auto",
  [ToolChoiceMode.REQUIRED]: "required",
};

function choiceOf(
  { toolChoice, tools: described }: CreateResponseRequest,
  set: Toolset,
  customTools: boolean | undefined,
  dropped: Dropped,
): Choice {
  if (toolChoice.case === "toolChoiceMode") return { choice: modes[toolChoice.value] };
  if (toolChoice.case !== "toolChoiceNamed") return { choice: undefined };
  const { type, mode, tools } = toolChoice.value;
  if (isVendors(toolChoice.value, set, described)) {
    dropped.add("tool_choice");
    return { choice: undefined };
  }
  if (type !== ToolType.ALLOWED_TOOLS) return { choice: chosen(set, chatNameOf(toolChoice.value, "tool_choice", set)) };
  const names = new Set<string>();
  for (const [i, tool] of tools.entries()) {
    const path = `tool_choice.tools[${i}]`;
    if (!isOwn(tool, set)) dropped.add(path);
    else names.add(chatNameOf(tool, path, set));
  }
  const word = modes[mode ?? ToolChoiceMode.AUTO] ?? "auto";
  if (customTools === false || names.size === 0) return { choice: word, allowed: names };
  const allowed = [...names].map((name) => chosen(set, name));
  return { choice: { type: "allowed_tools", allowed_tools: { mode: word, tools: allowed } } };
}

/** isOwn reports whether the tool is the caller's: the gateway runs no vendor's tools. */
function isOwn({ type, extra }: ResponseToolChoice, set: Toolset): boolean {
  return type === ToolType.FUNCTION || type === ToolType.CUSTOM || chosenKind(extra, set) !== undefined;
}

/** isVendors reports a choice of a described tool that only a vendor runs. */
function isVendors({ type, extra }: ResponseToolChoice, { names }: Toolset, tools: readonly ResponseTool[]): boolean {
  if (type !== undefined && type !== ToolType.UNSPECIFIED) return false;
  const kind = vendorsKind(extra);
  if (kind === undefined || names.has(undefined, kind)) return false;
  return tools.some((tool) => vendorsKind(tool.extra) === kind);
}

/** vendorsKind returns the type of a tool or a choice that is not of the caller's own; one for all versions of a search. */
function vendorsKind(extra: JsonObject | undefined): string | undefined {
  const type = extra?.type;
  if (typeof type !== "string") return undefined;
  return type.startsWith("web_search") ? "web_search" : type;
}

/** chosenKind returns the kind of an offered tool that its caller runs and that has no other name. */
function chosenKind(extra: JsonObject | undefined, { names }: Toolset): string | undefined {
  const type = extra?.type;
  const isKind = typeof type === "string" && Object.hasOwn(clientTools, type) && names.has(undefined, type);
  return isKind ? type : undefined;
}

function chatNameOf(choice: ResponseToolChoice, path: string, set: Toolset): string {
  if (!isOwn(choice, set)) {
    throw invalidValue(path, "the model behind this name has no tools but those that the request describes");
  }
  const { names } = set;
  const { extra, name } = choice;
  const kind = chosenKind(extra, set);
  if (kind !== undefined) return names.chatNameOf(undefined, kind);
  if (!name) throw missingField(`${path}.name`);
  if (typeof extra?.namespace === "string") return names.chatNameOf(extra.namespace, name);
  const dot = name.lastIndexOf(".");
  const [namespace, own] = [name.slice(0, Math.max(dot, 0)), name.slice(dot + 1)];
  return names.has(namespace, own) ? names.chatNameOf(namespace, own) : names.chatNameOf(undefined, name);
}

/** chosen names a tool by the kind in which it is offered. */
function chosen({ offered }: Toolset, name: string): JsonObject {
  const isCustom = offered.get(name)?.type === "custom";
  return isCustom ? { type: "custom", custom: { name } } : { type: "function", function: { name } };
}
