/**
 * Decides which tools are called, and with what.
 *
 * `tool_choice` decides. Left free, the simulator calls the tools that the user's last message names as whole words, in that order. Arguments are a valid instance of the tool's schema.
 */
import {
  type CreateChatCompletionRequest,
  type NamedToolChoice,
  Role,
  ToolChoiceMode,
} from "../../../gen/modelgateway/v1/chat_pb.ts";
import { cancelled, invalidValue } from "../../call/refusals.ts";
import type { Signal } from "../../runtime/caller-abort.ts";
import type { JsonObject } from "../../wire/json.ts";
import { findInstance } from "../schema/find-instance.ts";
import { lastUserText } from "./conversation.ts";
import { topicOf } from "./reply.ts";

export interface PlannedCall {
  readonly kind: "function" | "custom";
  readonly name: string;
  /** The arguments as JSON text, or a custom tool's input. */
  readonly input: string;
}

interface Callable {
  readonly kind: "function" | "custom";
  readonly name: string;
  readonly schema: JsonObject | undefined;
  /** Public path of the schema. */
  readonly path: string;
}

interface Rule {
  readonly mode: "none" | "auto" | "required";
  readonly allowed: readonly Callable[];
}

/** The most calls in one answer. */
const maxCalls = 128;

/** isLegacy reports whether the request uses the legacy `functions`, which allow one call. */
export function isLegacy(request: CreateChatCompletionRequest): boolean {
  return request.tools.length === 0 && request.functions.length > 0;
}

/** plannedCalls resolves with the calls to make, if any. Rejects with a Refusal where the choice or a schema cannot be satisfied. */
export async function plannedCalls(request: CreateChatCompletionRequest, signal: Signal): Promise<PlannedCall[]> {
  const text = lastUserText(request.messages);
  const chosen = chosenTools(request, text);
  const single = request.parallelToolCalls === false || isLegacy(request);
  if (chosen.length === 0) return [];
  const topic = topicOf(text, [...new Set(callables(request).map((tool) => tool.name))]);
  const planned: PlannedCall[] = [];
  for (const tool of chosen.slice(0, single ? 1 : maxCalls)) {
    if (signal.aborted) throw cancelled();
    planned.push(await plan(tool, text, topic, signal));
  }
  return planned;
}

function chosenTools(request: CreateChatCompletionRequest, text: string): readonly Callable[] {
  const { mode, allowed } = ruleOf(request);
  if (mode === "none") return [];
  const named = namedIn(text, allowed);
  if (mode === "required") return named.length > 0 ? named : allowed.slice(0, 1);
  return request.messages.at(-1)?.role === Role.USER ? named : [];
}

async function plan(tool: Callable, text: string, topic: string, signal: Signal): Promise<PlannedCall> {
  if (tool.kind === "custom") return { kind: "custom", name: tool.name, input: text };
  const schema = tool.schema ?? { type: "object", properties: {} };
  const value = await findInstance(schema, { word: topic, object: true }, signal);
  if (signal.aborted) throw cancelled();
  if (value === undefined) throw invalidValue(tool.path, "no value that fits this schema was found");
  return { kind: "function", name: tool.name, input: JSON.stringify(value) };
}

function callables(request: CreateChatCompletionRequest): Callable[] {
  const tools = request.tools.map((tool, i): Callable => {
    if (tool.custom) return { kind: "custom", name: tool.custom.name ?? "", schema: undefined, path: "" };
    const path = `tools[${i}].function.parameters`;
    return { kind: "function", name: tool.function?.name ?? "", schema: tool.function?.parameters, path };
  });
  const functions = request.functions.map((definition, i): Callable => {
    const path = `functions[${i}].parameters`;
    return { kind: "function", name: definition.name ?? "", schema: definition.parameters, path };
  });
  // Tools of a vendor's own kind have no name here.
  return (isLegacy(request) ? functions : tools).filter((tool) => tool.name !== "");
}

function ruleOf(request: CreateChatCompletionRequest): Rule {
  const all = callables(request);
  if (isLegacy(request)) {
    const choice = request.functionCall;
    if (choice.case === "functionCallNamed")
      return { mode: "required", allowed: pick(all, [choice.value.name], "function_call") };
    return modal(choice.value, all, "function_call");
  }
  const choice = request.toolChoice;
  if (choice.case !== "toolChoiceNamed") return modal(choice.value, all, "tool_choice");
  const list = choice.value.allowedTools;
  if (!list) return { mode: "required", allowed: pick(all, [nameIn(choice.value)], "tool_choice") };
  return modal(list.mode, pick(all, list.tools.map(nameIn), "tool_choice.allowed_tools"), "tool_choice");
}

function modal(mode: ToolChoiceMode | undefined, allowed: readonly Callable[], param: string): Rule {
  if (mode === ToolChoiceMode.NONE) return { mode: "none", allowed };
  if (mode !== ToolChoiceMode.REQUIRED) return { mode: "auto", allowed };
  if (allowed.length === 0) throw invalidValue(param, "a tool is required, but none is given");
  return { mode: "required", allowed };
}

function nameIn(choice: NamedToolChoice): string | undefined {
  return choice.function?.name ?? choice.custom?.name;
}

function pick(all: readonly Callable[], names: readonly (string | undefined)[], param: string): Callable[] {
  const picked = all.filter((tool) => names.includes(tool.name));
  if (picked.length === 0) throw invalidValue(param, "it names no tool that is given");
  return picked;
}

function namedIn(text: string, tools: readonly Callable[]): Callable[] {
  return tools
    .map((tool) => ({ tool, at: indexOfWord(text, tool.name) }))
    .filter(({ at }) => at !== -1)
    .sort((a, b) => a.at - b.at)
    .map(({ tool }) => tool);
}

function indexOfWord(text: string, word: string): number {
  const isWordly = (sign: string | undefined) => sign !== undefined && /[\p{L}\p{N}_-]/u.test(sign);
  for (let at = text.indexOf(word); at !== -1; at = text.indexOf(word, at + 1)) {
    if (!isWordly(text[at - 1]) && !isWordly(text[at + word.length])) return at;
  }
  return -1;
}
