/**
 * Items of tools that a vendor ran, or that the caller ran for a vendor's kind of tool → calls and results, which is
 * how a chat model knows tools at work.
 *
 * Vendors put the call of a tool of their own and what it gave into one item: it becomes both. An item that tells
 * nothing but that a tool was there is no step, and is dropped by whoever asks.
 */
import { createHash } from "node:crypto";
import type { ResponseItem } from "../../../../gen/modelgateway/v1/responses_pb.ts";
import { invalidType, invalidValue, missingField } from "../../../call/refusals.ts";
import { isObject, type JsonObject, type JsonValue, textOrEmpty } from "../../../wire/json.ts";
import { unsignedId } from "../../call-signature.ts";
import { calledClientTool, clientTools } from "../client-tools.ts";
import type { ToolNames } from "../tool-names.ts";

/** The most characters that OpenAI's chat takes of a call's id. Ids of vendors' items are longer. */
const longestId = 40;

/** ToolStep is a call, a result, or both. */
export interface ToolStep {
  /** The call's id, as the item has it. */
  readonly id: string;
  readonly call?: { readonly name: string; readonly input: string } | undefined;
  readonly result?: { readonly text: string; readonly images: readonly string[] } | undefined;
}

/** toolStepOf returns undefined for any other item. Throws a Refusal for what no chat model can be told. */
export function toolStepOf(item: ResponseItem, type: string, path: string, names: ToolNames): ToolStep | undefined {
  const json: JsonObject = { ...item.extra };
  if (item.arguments !== undefined) json.arguments = item.arguments;
  const kind = calledClientTool(type);
  if (kind) {
    const name = names.chatNameOf(undefined, kind);
    return { id: idOf(item, path), call: { name, input: JSON.stringify(clientTools[kind].inputOf(json)) } };
  }
  const parts = partsOfType.get(type)?.(json, item, path);
  if (!parts) return undefined;
  const { call, result } = parts;
  const { name = "", namespace } = call ?? {};
  return {
    id: idOf(item, path),
    call: call && { name: names.chatNameOf(namespace, name), input: textOf(call.input) },
    result: result && { text: result.text, images: result.images ?? [] },
  };
}

interface Parts {
  readonly call?: { readonly name: string; readonly namespace?: string; readonly input: JsonValue };
  readonly result?: { readonly text: string; readonly images?: readonly string[] };
}

type PartsOf = (json: JsonObject, item: ResponseItem, path: string) => Parts | undefined;

const partsOfType: ReadonlyMap<string, PartsOf> = new Map(
  Object.entries<PartsOf>({
    shell_call_output: (_json, item) => ({ result: { text: outputTextOf(item, printed) } }),
    local_shell_call_output: (_json, item) => ({ result: { text: outputTextOf(item, printed) } }),
    apply_patch_call_output: (_json, item) => ({
      result: { text: outputTextOf(item, printed) || (item.status ?? "") },
    }),
    computer_call: ({ action, actions }) => ({
      call: { name: "computer", input: { actions: actions ?? [action ?? {}] } },
    }),
    computer_call_output: screenshot,
    program: ({ code }) => ({ call: { name: "program", input: { code: code ?? "" } } }),
    program_output: ({ result }) => ({ result: { text: textOf(result ?? "") } }),
    mcp_call: mcpCall,
    mcp_approval_request: (json, { name }) => ({ call: mcpTool(json, name) }),
    web_search_call: ({ action, results }) => {
      if (!isObject(action) && !Array.isArray(results)) return undefined;
      const sources = isObject(action) ? (action.sources ?? results) : results;
      const { sources: _, ...input } = isObject(action) ? action : {};
      return { call: { name: "web_search", input }, result: { text: found(sources, "The search is done.") } };
    },
    file_search_call: ({ queries, results }) => ({
      call: { name: "file_search", input: { queries: queries ?? [] } },
      result: { text: found(results, "The search is done.") },
    }),
    code_interpreter_call: ({ code, outputs }) => ({
      call: { name: "code_interpreter", input: { code: code ?? "" } },
      result: { text: listOf(outputs).map(outputOfCode).filter(Boolean).join("\n") || "The code has run." },
    }),
    image_generation_call: ({ revised_prompt: prompt, result, output_format: format }) => ({
      call: { name: "image_generation", input: { prompt: prompt ?? "" } },
      result: {
        text: typeof result === "string" ? "The image is made." : "No image was made.",
        images: typeof result === "string" ? [`data:image/${textOrEmpty(format) || "png"};base64,${result}`] : [],
      },
    }),
  }),
);

/** idOf returns the id that a call and its result share. A tool that the vendor runs has none but the item's. */
function idOf({ callId, id, extra }: ResponseItem, path: string): string {
  const known = callId || id || textOrEmpty(extra?.approval_request_id);
  if (!known) throw missingField(`${path}.call_id`);
  return known.length <= longestId || unsignedId(known) !== known ? known : shortened(known);
}

/** shortened returns the same short id for the same long one, so that a prompt cache keeps hitting. */
function shortened(id: string): string {
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
  return { call: mcpTool(json, name), result: { text: message === null ? text : `Error: ${textOf(message)}` } };
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

function found(results: JsonValue | undefined, otherwise: string): string {
  const texts = listOf(results).map((result) => {
    const { title, filename, url, text, snippet } = result;
    return [title ?? filename, url, text ?? snippet]
      .map((part) => textOrEmpty(part))
      .filter(Boolean)
      .join("\n");
  });
  return texts.filter(Boolean).join("\n\n") || otherwise;
}

function outputOfCode({ logs, url }: JsonObject): string {
  return textOrEmpty(logs) || textOrEmpty(url);
}

function listOf(value: JsonValue | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function textOf(value: JsonValue): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
