/**
 * The offered tools, flat here and nested in chat.
 *
 * Namespaced tools become functions (`../tool-names.ts`). A custom tool stays one, or becomes a function of one
 * string where the server has no custom tools. Tools that the caller runs by their kind alone (`../client-tools.ts`)
 * become functions. Tools that a vendor runs are dropped and named: clients offer some with every request, and the
 * model does without them.
 */
import { ToolType } from "../../../../gen/modelgateway/v1/chat_pb.ts";
import type { CreateResponseRequest, ResponseTool } from "../../../../gen/modelgateway/v1/responses_pb.ts";
import { missingField } from "../../../call/refusals.ts";
import { isHuge, mapKeywords, valueKeywords } from "../../../providers/profile/schemas/root-schema.ts";
import type { CooperativeTask } from "../../../runtime/cooperative.ts";
import { definedFields, isObject, type JsonObject, type JsonValue } from "../../../wire/json.ts";
import type { Dropped } from "../../paths/dropped.ts";
import { madeFrom } from "../../paths/origins.ts";
import { repairedSchema } from "../../tools/repaired-schema.ts";
import { wrappedTool } from "../../tools/wrapped-tool.ts";
import { clientToolKind, clientTools } from "../client-tools.ts";
import { type CallerTool, ToolNames } from "../tool-names.ts";
import { type DescribedTool, describedTools } from "./described-tools.ts";

export interface Toolset {
  readonly names: ToolNames;
  /** By chat name, in order. */
  readonly offered: ReadonlyMap<string, JsonObject>;
}

/** toolsetOf throws a Refusal for a malformed tool. */
export function* toolsetOf(
  request: CreateResponseRequest,
  customTools: boolean | undefined,
  dropped: Dropped,
): CooperativeTask<Toolset> {
  const names = new ToolNames();
  const offered = new Map<string, JsonObject>();
  for (const described of yield* describedTools(request)) {
    yield;
    const { tool, path, namespace, about, mayRepeat } = described;
    const kind = kindOf(tool);
    if (!kind) {
      dropped.add(path);
      continue;
    }
    const isWrapped = kind === "custom" && customTools === false;
    const chatName = names.add({ kind, name: nameOf(described, kind), namespace, isWrapped });
    if (chatName !== undefined) {
      // A tool that a search has found is no longer deferred.
      const { defer_loading: _, ...extra } = tool.extra ?? {};
      const description = [about, tool.description].filter(Boolean).join("\n\n") || tool.description;
      const told = { ...tool, description, ...(mayRepeat ? { extra } : {}) };
      offered.set(chatName, madeFrom(path, yield* chatTool(chatName, told, isWrapped, path, dropped)));
    } else if (!mayRepeat) dropped.add(path);
  }
  return { names, offered };
}

/** kindOf returns undefined for a tool that only a vendor runs. */
function kindOf({ type, extra }: ResponseTool): CallerTool["kind"] | undefined {
  if (type === ToolType.FUNCTION) return "function";
  if (type === ToolType.CUSTOM) return "custom";
  return clientToolKind(extra ?? {});
}

function nameOf({ tool: { name }, path }: DescribedTool, kind: CallerTool["kind"]): string {
  if (kind !== "function" && kind !== "custom") return kind;
  if (!name) throw missingField(`${path}.name`);
  return name;
}

function* chatTool(
  name: string,
  tool: ResponseTool,
  isWrapped: boolean,
  path: string,
  dropped: Dropped,
): CooperativeTask<JsonObject> {
  const { type, description, parameters, strict, format, extra = {} } = tool;
  const kind = clientToolKind(extra);
  dropped.addExtra(extra, path, kind ? ["type", "execution", "environment"] : ["type"]);
  if (kind && isObject(extra.environment)) dropped.addExtra(extra.environment, `${path}.environment`, ["type"]);
  if (isWrapped) return functionOfText(name, tool, path, dropped);
  if (type === ToolType.CUSTOM) {
    return { type: "custom", custom: definedFields({ name, description, format: format && chatFormat(format) }) };
  }
  const known = kind && clientTools[kind].function;
  if (known) return { type: "function", function: { name, ...known } };
  const lose = (lost: string) => dropped.add(lost);
  const plain = parameters && (isHuge(parameters) ? parameters : (plainSchema(parameters) as JsonObject));
  yield;
  const schema = plain && repairedSchema(plain, `${path}.parameters`, lose);
  return { type: "function", function: definedFields({ name, description, parameters: schema, strict }) };
}

function functionOfText(
  name: string,
  { description, format }: ResponseTool,
  path: string,
  dropped: Dropped,
): JsonObject {
  if (format && format.type !== undefined && format.type !== "text") dropped.add(`${path}.format`);
  return { type: "function", function: definedFields({ name, ...wrappedTool(description, format) }) };
}

function chatFormat({ type, ...rest }: JsonObject): JsonObject {
  return type === "grammar" ? { type, grammar: rest } : ({ type, ...rest } as JsonObject);
}

/** plainSchema removes `encrypted`, a client's mark for what its vendor hides from it, which no other server knows. */
function plainSchema(schema: JsonValue): JsonValue {
  if (Array.isArray(schema)) return schema.map(plainSchema);
  if (!isObject(schema)) return schema;
  const kept = Object.entries(schema).filter(([key, value]) => key !== "encrypted" || typeof value !== "boolean");
  return Object.fromEntries(kept.map(([key, value]) => [key, plainMember(key, value)]));
}

function plainMember(key: string, value: JsonValue): JsonValue {
  if (valueKeywords.has(key)) return value;
  if (!mapKeywords.has(key) || !isObject(value)) return plainSchema(value);
  return Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, plainSchema(schema)]));
}
