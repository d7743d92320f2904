/**
 * The tools of a chat request → the tools offered to the model, and what their calls become in the answer.
 *
 * Schemas are kept as far as the API takes them (`root-schema.ts`); those of strict tools are narrowed like the
 * output's. A custom tool, whose input is free text, becomes one with a single string `input`. The legacy `functions`
 * are read where there are no `tools`. The Messages API's own tools, which have a dated type (`web_search_20250305`),
 * pass through; other vendors' tools are dropped and named.
 */
import type {
  CreateChatCompletionRequest,
  CustomToolDefinition,
  FunctionDefinition,
  Tool,
} from "../../../../gen/modelgateway/v1/chat_pb.ts";
import { MessageToolSchema } from "../../../../gen/modelgateway/v1/messages_pb.ts";
import { rootSchema } from "../../../providers/profile/schemas/root-schema.ts";
import type { CooperativeTask } from "../../../runtime/cooperative.ts";
import { isObject, type JsonObject } from "../../../wire/json.ts";
import type { Dropped } from "../../paths/dropped.ts";
import { repairedSchema } from "../../tools/repaired-schema.ts";
import { wrappedTool } from "../../tools/wrapped-tool.ts";
import type { CalledTool } from "../answer/parts.ts";
import { fitsSchema } from "../fits-schema.ts";
import { supportsSchemas } from "../generations.ts";
import { inverse, withFitNames, withNames } from "../property-names.ts";
import { upstreamName } from "../tool-names.ts";
import { cacheMark } from "./content.ts";
import { enforcedSchema } from "./output-schema.ts";

export interface Toolbox {
  /** By upstream name, in order. */
  readonly offered: ReadonlyMap<string, JsonObject>;
  /** By upstream name. */
  readonly called: ReadonlyMap<string, CalledTool>;
  /** legacy is whether the caller uses the legacy `functions`, which allow one call. */
  readonly legacy: boolean;
}

const noArguments = { type: "object", properties: {} };

/** Members of the Messages API's tools. Callers set them on either level. */
const switches = ["defer_loading", "eager_input_streaming", "input_examples", "allowed_callers"];

/** `model` is the upstream's name of it. */
export function* toolboxOf(
  request: CreateChatCompletionRequest,
  model: string,
  dropped: Dropped,
): CooperativeTask<Toolbox> {
  const legacy = request.tools.length === 0 && request.functions.length > 0;
  if (!legacy && request.functions.length > 0) dropped.add("functions");
  const strict = supportsSchemas(model);
  const offered = new Map<string, JsonObject>();
  const called = new Map<string, CalledTool>();
  const offer = (tool: CalledTool, json: JsonObject | undefined, path: string) => {
    const name = upstreamName(tool.name);
    if (!json || offered.has(name)) return dropped.add(path); // Names are unique upstream.
    const schemaPath = tool.kind === "function_call" ? `${path}.parameters` : `${path}.function.parameters`;
    const { tool: fit, argumentNames } = withFitArguments(json, schemaPath, dropped);
    offered.set(name, { name, ...fit });
    called.set(name, { ...tool, argumentNames });
  };
  for (const [i, definition] of (legacy ? request.functions : []).entries()) {
    const path = `functions[${i}]`;
    const json = yield* functionTool(definition, path, strict, dropped);
    yield;
    offer({ kind: "function_call", name: definition.name ?? "" }, json, path);
  }
  for (const [i, tool] of request.tools.entries()) {
    const path = `tools[${i}]`;
    const json = yield* toolJson(tool, path, strict, dropped);
    yield;
    offer(calledTool(tool), json, path);
  }
  return { offered, called, legacy };
}

/** withFitArguments returns a tool whose arguments have names that the API takes, and the caller's names by these. */
export function withFitArguments(tool: JsonObject, schemaPath: string, dropped: Dropped) {
  const given = isObject(tool.input_schema) ? tool.input_schema : {};
  const { schema, names } = withFitNames(given, (keyword) => dropped.add(`${schemaPath}.${keyword}`));
  if (!names) return { tool, argumentNames: undefined };
  const examples = Array.isArray(tool.input_examples) ? tool.input_examples : undefined;
  const renamed = examples?.map((one) => (isObject(one) ? withNames(one, inverse(names)) : one));
  const fit = { ...tool, input_schema: schema, ...(renamed && { input_examples: renamed }) };
  return { tool: fit, argumentNames: names };
}

/** renameArguments gives the calls of the history the names that the tools offered have. */
export function renameArguments(
  turns: readonly { readonly blocks: JsonObject[] }[],
  called: ReadonlyMap<string, CalledTool>,
): void {
  for (const { blocks } of turns)
    for (const [i, block] of blocks.entries()) {
      const names = block.type === "tool_use" ? called.get(`${block.name}`)?.argumentNames : undefined;
      if (names && isObject(block.input)) blocks[i] = { ...block, input: withNames(block.input, inverse(names)) };
    }
}

/** rebuiltTools returns tools for the calls in the history: the API refuses calls of undeclared tools. */
export function rebuiltTools(turns: readonly { readonly blocks: readonly JsonObject[] }[]): JsonObject[] {
  const calls = turns.flatMap(({ blocks }) => blocks).filter(({ type }) => type === "tool_use");
  return [...new Set(calls.map(({ name = "" }) => name))].map((name) => ({ name, input_schema: noArguments }));
}

function calledTool({ function: definition, custom, extra }: Tool): CalledTool {
  if (custom && !definition) return { kind: "custom", name: custom.name ?? "" };
  const name = extra?.name;
  return { kind: "function", name: definition?.name ?? (typeof name === "string" ? name : "") };
}

function* toolJson(
  tool: Tool,
  path: string,
  strict: boolean,
  dropped: Dropped,
): CooperativeTask<JsonObject | undefined> {
  const { function: definition, custom, extra } = tool;
  // A function that its vendor runs, as Kimi's `builtin_function`.
  if (definition && typeof extra?.type === "string") return undefined;
  const json = definition
    ? yield* functionTool(definition, `${path}.function`, strict, dropped)
    : custom && customTool(custom, `${path}.custom`, dropped);
  return json ? { ...json, ...switchesOf(extra, path, dropped) } : ownTool(tool);
}

/** functionTool pauses between what it does with a schema, each of which may take some milliseconds. */
function* functionTool(
  { description, parameters = {}, strict: requestsStrict = false, extra }: FunctionDefinition,
  path: string,
  strict: boolean,
  dropped: Dropped,
): CooperativeTask<JsonObject> {
  const schemaPath = `${path}.parameters`;
  yield;
  const repaired = repairedSchema(parameters, schemaPath, (lost) => dropped.add(lost));
  yield;
  const input = rootSchema(repaired, (key) => dropped.add(`${schemaPath}.${key}`));
  yield;
  const narrowed = requestsStrict && strict ? enforcedSchema(input, schemaPath) : undefined;
  if (requestsStrict && !narrowed) dropped.add(`${path}.strict`);
  for (const lost of narrowed?.dropped ?? []) dropped.add(lost);
  return {
    ...(description === undefined ? {} : { description }),
    input_schema: narrowed?.schema ?? input,
    ...(narrowed ? { strict: true } : {}),
    ...switchesOf(extra, path, dropped),
  };
}

function customTool({ description, format, extra }: CustomToolDefinition, path: string, dropped: Dropped): JsonObject {
  if (format && format.type !== "text") dropped.add(`${path}.format`);
  const { description: told, parameters } = wrappedTool(description, format);
  return {
    ...(told === undefined ? {} : { description: told }),
    input_schema: parameters,
    ...switchesOf(extra, path, dropped),
  };
}

function ownTool({ extra: { type, name } = {}, extra }: Tool): JsonObject | undefined {
  const isOwn =
    typeof type === "string" && /_\d{8}$/.test(type) && typeof name === "string" && upstreamName(name) === name;
  return isOwn && extra && fitsSchema(MessageToolSchema, extra) ? extra : undefined;
}

/** switchesOf returns these members and the cache mark beside a definition, and names all other keys. */
function switchesOf(extra: JsonObject | undefined, path: string, dropped: Dropped): JsonObject {
  dropped.addExtra(extra, path, [...switches, "cache_control"]);
  const found = Object.entries(extra ?? {}).filter(([key, value]) => switches.includes(key) && value !== null);
  return { ...Object.fromEntries(found), ...cacheMark(extra, path, dropped) };
}
