/**
 * The tools on offer and the choice among them, flat here and nested in chat.
 *
 * A tool that its vendor runs itself is left out and named: clients offer some with every request, and the model does
 * without. A choice that demands one is refused.
 */
import { ToolChoiceMode, ToolType } from "../../../gen/modelgateway/v1/chat_pb.ts";
import type {
  CreateResponseRequest,
  ResponseTool,
  ResponseToolChoice,
} from "../../../gen/modelgateway/v1/responses_pb.ts";
import { invalidValue, missingField } from "../../errors.ts";
import type { JsonObject, JsonValue } from "../../wire/json.ts";
import type { Dropped } from "../chat-to-messages/dropped.ts";
import { fieldsSet } from "../messages-to-chat/fields.ts";

/** Returns `tools`, `tool_choice` and `parallel_tool_calls`, as far as there are any. Throws a Refusal. */
export function toolsOf(request: CreateResponseRequest, dropped: Dropped): JsonObject {
  const tools = request.tools.flatMap((tool, i) => chatTool(tool, `tools[${i}]`, dropped));
  const choice = choiceOf(request, dropped);
  if (tools.length > 0) {
    return fieldsSet({ tools, tool_choice: choice, parallel_tool_calls: request.parallelToolCalls });
  }
  // Chat takes neither without tools.
  if (choice !== undefined && choice !== "auto" && choice !== "none") dropped.add("tool_choice");
  return {};
}

/** Returns the names of the tools that take free text. */
export function customToolsOf({ tools }: CreateResponseRequest): ReadonlySet<string> {
  return new Set(tools.filter(({ type }) => type === ToolType.CUSTOM).map(({ name }) => name ?? ""));
}

function chatTool(tool: ResponseTool, path: string, dropped: Dropped): JsonObject[] {
  const { type, name, description, parameters, strict, format, extra } = tool;
  if (!isOwn(tool)) {
    dropped.add(path);
    return [];
  }
  if (!name) throw missingField(`${path}.name`);
  dropped.addExtra(extra, path);
  if (type === ToolType.FUNCTION) {
    return [{ type: "function", function: fieldsSet({ name, description, parameters, strict }) }];
  }
  return [{ type: "custom", custom: fieldsSet({ name, description, format: format && chatFormat(format) }) }];
}

function chatFormat({ type, ...rest }: JsonObject): JsonObject {
  return type === "grammar" ? { type, grammar: rest } : ({ type, ...rest } as JsonObject);
}

const modes: Readonly<Partial<Record<ToolChoiceMode, string>>> = {
  [ToolChoiceMode.NONE]: "none",
  [ToolChoiceMode.AUTO]: "auto",
  [ToolChoiceMode.REQUIRED]: "required",
};

function choiceOf({ toolChoice }: CreateResponseRequest, dropped: Dropped): JsonValue | undefined {
  if (toolChoice.case === "toolChoiceMode") return modes[toolChoice.value];
  if (toolChoice.case !== "toolChoiceNamed") return undefined;
  const { type, mode, tools } = toolChoice.value;
  if (type !== ToolType.ALLOWED_TOOLS) return namedTool(toolChoice.value, "tool_choice");
  const allowed = tools.flatMap((tool, i) => {
    const path = `tool_choice.tools[${i}]`;
    if (isOwn(tool)) return [namedTool(tool, path)];
    dropped.add(path);
    return [];
  });
  return {
    type: "allowed_tools",
    allowed_tools: { mode: modes[mode ?? ToolChoiceMode.AUTO] ?? "auto", tools: allowed },
  };
}

/** Whether it is the caller's: the gateway runs no vendor's tools. */
function isOwn({ type }: ResponseTool | ResponseToolChoice): boolean {
  return type === ToolType.FUNCTION || type === ToolType.CUSTOM;
}

function namedTool(choice: ResponseToolChoice, path: string): JsonObject {
  const { type, name } = choice;
  if (!isOwn(choice)) {
    throw invalidValue(path, "the model behind this name has no tools but those that the request describes");
  }
  if (!name) throw missingField(`${path}.name`);
  return type === ToolType.CUSTOM ? { type: "custom", custom: { name } } : { type: "function", function: { name } };
}
