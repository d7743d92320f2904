/** Functions and choices among them, in the words of whichever API a client writes. */
import { isEmptyList } from "../../call/tools/tool-input.ts";
import { definedFields, isObject, type JsonObject, type JsonValue } from "../../wire/json.ts";

/** AnyTool is a caller's own tool. What it did not have is undefined. */
interface AnyTool {
  /** form is whose tool it is: `nested` is chat's form, `flat` that of responses, `schema` the Messages API's. */
  readonly form: "nested" | "flat" | "schema";
  readonly kind: "function" | "custom";
  readonly name: string;
  readonly description: JsonValue | undefined;
  readonly parameters: JsonValue | undefined;
  readonly strict: JsonValue | undefined;
  /** format is that of a custom tool, as responses has it. */
  readonly format: JsonValue | undefined;
  /** rest has all further members of the tool. */
  readonly rest: JsonObject;
}

/** readTool reads a tool of any API; undefined for a vendor's own tool, and for an unknown shape. */
function readTool(tool: JsonValue): AnyTool | undefined {
  if (!isObject(tool)) return undefined;
  const { type = null, function: called, custom, ...members } = tool;
  if (isObject(called)) return described("nested", "function", called, members);
  if (isObject(custom)) return described("nested", "custom", custom, members);
  const { name, description, parameters, strict, format, input_schema, inputSchema, ...rest } = members;
  // MCP's own name for a schema.
  const schema = input_schema ?? inputSchema;
  const own = { name, description, parameters: parameters ?? schema, strict, format } as JsonObject;
  if ((type === null || type === "custom") && isObject(schema)) return described("schema", "function", own, rest);
  // A tool without a type is a function: agents write what was in `functions`.
  if (type === null) return described("flat", "function", own, rest);
  return type === "function" || type === "custom" ? described("flat", type, own, rest) : undefined;
}

function described(form: AnyTool["form"], kind: AnyTool["kind"], own: JsonObject, rest: JsonObject) {
  const { name, description, parameters, strict, format } = own;
  if (typeof name !== "string") return undefined;
  const told = { description: description ?? undefined, parameters: parameters ?? undefined };
  return { form, kind, name, ...told, strict: strict ?? undefined, format: flatFormat(format ?? undefined), rest };
}

function flatFormat(format: JsonValue | undefined): JsonValue | undefined {
  if (!isObject(format) || !isObject(format.grammar)) return format;
  return { type: "grammar", ...format.grammar };
}

/**
 * withObjectProperties returns the tool with an object for the properties of its schema, where they are an empty list: PHP has no other
 * empty object.
 */
function withObjectProperties(tool: JsonValue): JsonValue {
  if (!isObject(tool)) return tool;
  const { function: called } = tool;
  if (isObject(called)) {
    const mended = withObjectProperties(called);
    return mended === called ? tool : { ...tool, function: mended };
  }
  const key = schemaKeys.find((name) => isEmptyList(tool[name]) || hasEmptyList(tool[name]));
  if (key === undefined) return tool;
  const { [key]: schema } = tool;
  return { ...tool, [key]: { type: "object", ...(isObject(schema) ? schema : {}), properties: {} } };
}

const schemaKeys = ["parameters", "input_schema"] as const;

function hasEmptyList(schema: JsonValue | undefined): boolean {
  return isObject(schema) && isEmptyList(schema.properties);
}

/** nestedTool returns the tool as chat has it. One that is of that form already stays. */
export function nestedTool(written: JsonValue): JsonValue {
  const tool = withObjectProperties(written);
  const read = readTool(tool);
  if (!read || (read.form === "nested" && hasType(tool))) return tool;
  const { kind, name, description, parameters, strict, format, rest } = read;
  const own = kind === "function" ? { parameters, strict } : { format: nestedFormat(format) };
  return { ...rest, type: kind, [kind]: definedFields({ name, description, ...own }) };
}

function hasType(tool: JsonValue): boolean {
  return isObject(tool) && (tool.type ?? null) !== null;
}

function nestedFormat(format: JsonValue | undefined): JsonValue | undefined {
  if (!isObject(format) || format.type !== "grammar") return format;
  const { type, ...grammar } = format;
  return { type, grammar };
}

/** otherKeys are the members that a function of responses does not have. */
const otherKeys = ["function", "custom", "input_schema", "inputSchema"] as const;

/** flatTool returns the tool as responses has it. One that is of that form already stays. */
export function flatTool(written: JsonValue): JsonValue {
  const tool = withObjectProperties(written);
  const isOther = isObject(tool) && (!hasType(tool) || otherKeys.some((key) => isObject(tool[key])));
  const read = isOther ? readTool(tool) : undefined;
  if (!read) return tool;
  const { kind, name, description, parameters, strict, format, rest } = read;
  return { ...rest, type: kind, ...definedFields({ name, description, parameters, strict, format }) };
}

/** schemaTool returns the tool as the Messages API has it. A tool that is no function of another API stays. */
export function schemaTool(written: JsonValue): JsonValue {
  const tool = withObjectProperties(written);
  const isOther = isObject(tool) && (tool.type === "function" || (!hasType(tool) && !isObject(tool.input_schema)));
  const read = isOther ? readTool(tool) : undefined;
  if (!read) return tool;
  const { name, description, parameters = { type: "object", properties: {} }, strict, rest } = read;
  return { ...rest, ...definedFields({ name, description, input_schema: parameters, strict }) };
}

/** AnyChoice is a word, or the tool that is to be called. */
interface AnyChoice {
  readonly word?: "auto" | "none" | "required";
  readonly kind?: "function" | "custom";
  readonly name?: string;
}

/** words are the choices that are none of a single tool, as any API writes them. */
const words: ReadonlyMap<JsonValue | undefined, AnyChoice["word"]> = new Map([
  ...(["auto", "none", "required"] as const).map((word) => [word, word] as const),
  ["any", "required" as const],
]);

/** readChoice reads a choice of any API; undefined for an unknown shape, as a vendor's tool or a list of allowed tools. */
function readChoice(choice: JsonValue): AnyChoice | undefined {
  const word = words.get(isObject(choice) ? choice.type : choice);
  if (word !== undefined) return { word };
  if (!isObject(choice)) return undefined;
  const { type = isObject(choice.custom) ? "custom" : "function" } = choice;
  const kind = type === "custom" ? "custom" : type === "tool" || type === "function" ? "function" : undefined;
  const named = [choice, choice.function, choice.custom].find((one) => isObject(one) && typeof one.name === "string");
  return kind && isObject(named) ? { kind, name: named.name as string } : undefined;
}

/** nestedChoice returns the choice as chat has it. One that is of that form already stays. */
export function nestedChoice(choice: JsonValue): JsonValue {
  const read = readChoice(choice);
  if (read?.word !== undefined) return read.word;
  if (!read?.kind || (isObject(choice) && hasType(choice) && isObject(choice[read.kind]))) return choice;
  return { type: read.kind, [read.kind]: definedFields({ name: read.name }) };
}

/** flatChoice returns the choice as responses has it. */
export function flatChoice(choice: JsonValue): JsonValue {
  const read = readChoice(choice);
  if (!read) return choice;
  if (read.word !== undefined) return read.word;
  const { namespace } = choice as JsonObject;
  return definedFields({ type: read.kind, name: read.name, namespace });
}

/** typesOfOthers are the types of choices that are none of the Messages API's, or none at all. */
const typesOfOthers: ReadonlySet<JsonValue | undefined> = new Set([undefined, "function", "custom", "required"]);

/** messagesChoice returns the choice as the Messages API has it. */
export function messagesChoice(choice: JsonValue): JsonValue {
  const isOther = !isObject(choice) || typesOfOthers.has(choice.type);
  const read = isOther ? readChoice(choice) : undefined;
  if (!read) return choice;
  if (read.word !== undefined) return { type: read.word === "required" ? "any" : read.word };
  return definedFields({ type: "tool", name: read.name });
}
