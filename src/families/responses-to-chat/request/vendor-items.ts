/**
 * Items of tools that a vendor ran, or that the caller ran for a vendor's kind of tool → calls and results, which is
 * how a chat model knows tools at work.
 *
 * Vendors put the call of a tool of their own and what it gave into one item: it becomes both. An item that tells
 * nothing but that a tool was there is no step, and is dropped by whoever asks. Images that a tool made are told and not
 * shown: a model that takes text alone would refuse every later turn.
 */
import { createHash } from "node:crypto";
import type { ResponseItem } from "../../../../gen/modelgateway/v1/responses_pb.ts";
import { invalidType, invalidValue, missingField } from "../../../call/refusals.ts";
import { isObject, type JsonObject, type JsonValue, objectsIn, textOrEmpty, textOrJson } from "../../../wire/json.ts";
import { failedResult } from "../../tools/paired-results.ts";
import { calledClientTool } from "../client-tools.ts";
import type { ToolNames } from "../tool-names.ts";

/** longestId is the most characters that OpenAI's chat takes of a call's id. Ids of vendors' items are longer. */
const longestId = 40;

/** ToolStep is a call, a result, or both. */
export interface ToolStep {
  /** The id that the call and its result share; undefined where an item that is both, or of a search by the vendor, has none. */
  readonly id: string | undefined;
  readonly call?: { readonly name: string; readonly input: string } | undefined;
  readonly result?: { readonly text: string; readonly images: readonly string[] } | undefined;
}

/** toolStepOf returns undefined for any other item. Throws a Refusal for what no chat model can be told. */
export function toolStepOf(item: ResponseItem, type: string, path: string, names: ToolNames): ToolStep | undefined {
  const json: JsonObject = { ...item.extra };
  if (item.arguments !== undefined) json.arguments = item.arguments;
  const called = calledClientTool(type);
  const parts: Parts | undefined = called
    ? { call: { name: called.name, input: called.tool.inputOf(json) } }
    : partsOfType.get(type)?.(json, item, path);
  if (!parts) return undefined;
  const { call, result } = parts;
  const id = idOf(item);
  if (id === undefined && !(call && result) && json.execution !== "server") throw missingField(`${path}.call_id`);
  const { name = "", namespace } = call ?? {};
  return {
    id,
    call: call && { name: names.chatNameOf(namespace, name), input: textOrJson(call.input) },
    result: result && { text: resultText(result, item), images: result.images ?? [] },
  };
}

/** resultText returns what is told of a result. */
function resultText({ text, hasFailed = false }: Result, { status }: ResponseItem): string {
  return hasFailed || status === "failed" || status === "incomplete" ? failedResult(text) : text;
}

interface Parts {
  readonly call?: { readonly name: string; readonly namespace?: string; readonly input: JsonValue };
  readonly result?: Result;
}

interface Result {
  readonly text: string;
  readonly images?: readonly string[];
  /** hasFailed is whether the item says so, whatever its status. */
  readonly hasFailed?: boolean;
}

type PartsOf = (json: JsonObject, item: ResponseItem, path: string) => Parts | undefined;

const partsOfType: ReadonlyMap<string, PartsOf> = new Map(
  Object.entries<PartsOf>({
    shell_call_output: (_json, item) => ({ result: { text: outputTextOf(item, printed) } }),
    local_shell_call_output: (_json, item) => ({ result: { text: outputTextOf(item, printed) } }),
    apply_patch_call_output: (_json, item) => ({
      result: { text: outputTextOf(item, printed) || (item.status === "failed" ? "" : (item.status ?? "")) },
    }),
    computer_call: ({ action, actions }) => ({
      call: { name: "computer", input: { actions: actions ?? [action ?? {}] } },
    }),
    computer_call_output: screenshot,
    program: ({ code }) => ({ call: { name: "program", input: { code: code ?? "" } } }),
    program_output: ({ result }) => ({ result: { text: textOrJson(result ?? "") } }),
    mcp_call: mcpCall,
    mcp_approval_request: (json, { name }) => ({ call: mcpTool(json, name) }),
    web_search_call: ({ action, results }) => {
      if (!isObject(action) && !Array.isArray(results)) return undefined;
      const sources = isObject(action) ? (action.sources ?? results) : results;
      const { sources: _, ...input } = isObject(action) ? action : {};
      return { call: { name: "web_search", input }, result: { text: found(sources) } };
    },
    file_search_call: ({ queries, results }) => ({
      call: { name: "file_search", input: { queries: queries ?? [] } },
      result: { text: found(results) },
    }),
    code_interpreter_call: ({ code, outputs }) => ({
      call: { name: "code_interpreter", input: { code: code ?? "" } },
      result: { text: objectsIn(outputs).map(outputOfCode).filter(Boolean).join("\n") || "It printed nothing." },
    }),
    image_generation_call: ({ revised_prompt: prompt, result }) => ({
      call: { name: "image_generation", input: { prompt: prompt ?? "" } },
      result: { text: typeof result === "string" ? "The image is made." : "No image was made." },
    }),
  }),
);

/**
 * idOf returns the id that a call and its result share; undefined where there is none. A tool that the vendor runs has none but the
 * item's, which alone may be shortened: a call's own stands in other items, too.
 */
function idOf({ callId, id, extra }: ResponseItem): string | undefined {
  if (callId) return callId;
  const known = id || textOrEmpty(extra?.approval_request_id);
  if (!known) return undefined;
  return known.length <= longestId ? known : shortId(known);
}

/** shortId returns the same short id for the same text, so that a prompt cache keeps hitting. */
export function shortId(id: string): string {
  return `call_${createHash("sha256")
    .update(id)
    .digest("hex")
    .slice(0, longestId - "call_".length)}`;
}

function mcpTool({ server_label: server, arguments: input }: JsonObject, name = "") {
  return { name, namespace: `mcp__${textOrEmpty(server)}`, input: input ?? {} };
}

function mcpCall(json: JsonObject, { name, output }: ResponseItem): Parts {
  const { error = null } = json;
  const message = isObject(error) ? (error.message ?? error.content ?? error) : error;
  const text = output.case === "outputText" ? output.value : "";
  const result = message === null ? { text } : { text: textOrJson(message), hasFailed: true };
  return { call: mcpTool(json, name), result };
}

function screenshot({ output }: JsonObject, _item: ResponseItem, path: string): Parts {
  const { image_url: url, file_id } = isObject(output) ? output : {};
  if (typeof url === "string") return { result: { text: "A screenshot was made.", images: [url] } };
  if (file_id !== undefined) {
    throw invalidValue(`${path}.output`, "the model behind this name takes a screenshot by its `image_url` only");
  }
  throw invalidType(`${path}.output`, "expected a screenshot");
}

/** outputTextOf returns the text of a result: as it came, or part by part. */
function outputTextOf({ output }: ResponseItem, read: (part: JsonObject) => string): string {
  if (output.case === "outputText") return output.value;
  const parts = output.case === "outputParts" ? output.value.parts : [];
  return parts.map(({ text, extra }) => text ?? read(extra ?? {})).join("\n");
}

/** printed returns what a command wrote, and how it ended. */
function printed({ stdout, stderr, outcome }: JsonObject): string {
  const { type, exit_code: code } = isObject(outcome) ? outcome : {};
  const end = type === "timeout" ? "It was stopped after its time." : code === undefined ? "" : `Exit code: ${code}`;
  const errors = textOrEmpty(stderr);
  return [textOrEmpty(stdout), errors && `Errors:\n${errors}`, end].filter(Boolean).join("\n");
}

function found(results: JsonValue | undefined): string {
  const texts = objectsIn(results).map((result) => {
    const { title, filename, url, text, snippet } = result;
    return [title ?? filename, url, text ?? snippet]
      .map((part) => textOrEmpty(part))
      .filter(Boolean)
      .join("\n");
  });
  return texts.filter(Boolean).join("\n\n") || "No results are told of.";
}

function outputOfCode({ type, logs }: JsonObject): string {
  return type === "image" ? "(It made an image, which is not shown here.)" : textOrEmpty(logs);
}
