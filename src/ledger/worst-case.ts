/**
 * Bounds what a call may use, before it is sent: each byte of its input counts as a token, each attachment as what the most
 * expensive model makes of one, and the output as what the request lets the model write.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Operation } from "../call/operations.ts";
import type { Wire } from "../wire/wire.ts";

/** The bound of an answer where the request has none and the catalogue does not know the model's own. */
export const defaultOutputTokens = 8192;
/** The default of the legacy API, which not all servers follow. */
export const defaultCompletionTokens = 16;

/** Tokens that vendors add to a conversation, and for tools: more than any of them does. */
const envelopeTokens = 64;
const toolsTokens = 1024;

/** The most tokens that an image or audio counts as, whatever its bytes. */
const attachmentTokens = 65_536;
/** The most tokens that a document of unknown length counts as, where the model's context does not bound it. */
const documentTokens = 1_000_000;

/**
 * Returns the most input tokens that a request may have. `prompts` is how many prompts it has. What a vendor's own tools fetch
 * is added to what the model's context holds: each of their rounds is charged as input again.
 */
export function inputBound(request: Wire, contextWindow: number | undefined, prompts = 1): number {
  const json = request.outline();
  const attached = attachmentsOf(json);
  const tools = json.tools === undefined && json.functions === undefined ? 0 : toolsTokens;
  const text = Math.max(0, request.byteLength - attached.bytes);
  const total = text + attached.tokens + envelopeTokens * prompts + tools;
  const fetched = usesVendorTools(json) ? documentTokens : 0;
  return (contextWindow === undefined ? total : Math.min(total, contextWindow)) + fetched;
}

/** Reports whether some of a request's input is no text. */
export function hasAttachments(request: Wire): boolean {
  return attachmentsOf(request.outline()).tokens > 0;
}

/** Reports whether a request uses tools that run at the vendor, in any family: tools named by a type, MCP servers, web search. */
export function usesVendorTools({ tools, input, mcp_servers, container, web_search_options }: JsonObject): boolean {
  if ((mcp_servers ?? container ?? web_search_options ?? null) !== null) return true;
  if (hasVendorTool(tools)) return true;
  // Items of the input may have tools.
  return Array.isArray(input) && input.some((item) => isObject(item) && hasVendorTool(item.tools));
}

function hasVendorTool(tools: JsonValue | undefined): boolean {
  if (!Array.isArray(tools)) return false;
  return tools.some(
    (tool) => isObject(tool) && typeof tool.type === "string" && !callersOwn.has(tool.type) && !isOfCallers(tool),
  );
}

/** Reports whether a tool with a type is the caller's: a namespace of the caller's tools, or a search that the client runs. */
function isOfCallers({ type, tools, execution }: JsonObject): boolean {
  if (type === "tool_search") return execution === "client";
  return type === "namespace" && Array.isArray(tools) && !hasVendorTool(tools);
}

const callersOwn = new Set(["function", "custom"]);

interface Attached {
  /** Their length in the request, in bytes: no text. */
  bytes: number;
  tokens: number;
}

/** The keys whose value is an attachment, in any family, and the most tokens that each counts as. */
const attachmentKeys: ReadonlyMap<string, number> = new Map(
  Object.entries({
    image_url: attachmentTokens,
    input_audio: attachmentTokens,
    file: documentTokens,
    source: documentTokens,
    file_id: documentTokens,
    file_data: documentTokens,
    file_url: documentTokens,
    video_url: documentTokens,
    input_video: documentTokens,
  }),
);

function attachmentsOf(json: JsonObject): Attached {
  const found = { bytes: 0, tokens: 0 };
  addAttachments(json.messages, false, found);
  addAttachments(json.input, true, found);
  return found;
}

function addAttachments(value: JsonValue | undefined, inContent: boolean, found: Attached): void {
  if (typeof value !== "object" || value === null) return;
  if (Array.isArray(value)) {
    // It may be a list of a million numbers.
    for (const item of value) if (typeof item === "object") addAttachments(item, inContent, found);
    return;
  }
  for (const key in value) {
    const member = value[key] as JsonValue;
    if (key === "content" || key === "output" || isContentSource(key, member)) addAttachments(member, true, found);
    else if (inContent && attachmentKeys.has(key) && isAttachment(key, member)) {
      found.bytes += typeof member === "string" ? member.length : encodedLength(member as JsonObject);
      found.tokens += value.type === "image" ? attachmentTokens : (attachmentKeys.get(key) as number);
    }
  }
}

/** Reports whether a member is an Anthropic document that is given as content blocks. */
function isContentSource(key: string, member: JsonValue): boolean {
  return key === "source" && isObject(member) && member.type === "content";
}

/** Reports whether a member is an attachment. The source of a search result, and of a document in plain text, is text. */
function isAttachment(key: string, member: JsonValue): boolean {
  if (key === "source") return isObject(member) && member.type !== "text";
  return typeof member === "string" || isObject(member);
}

/** Returns the length of what is encoded in an attachment; the rest of it is text. */
function encodedLength(attachment: JsonObject): number {
  let length = 0;
  for (const key of ["url", "data", "file_data"]) {
    const value = attachment[key];
    if (typeof value === "string") length += value.length;
  }
  return length;
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns how many output tokens a request allows for each of its answers; undefined where it names no bound. */
export function outputBound(operation: Operation, json: JsonObject): number | undefined {
  if (operation === "chat") return larger(count(json.max_completion_tokens), count(json.max_tokens));
  if (operation === "responses") return count(json.max_output_tokens);
  if (operation === "completions" || operation === "messages") return count(json.max_tokens);
  return 0;
}

/** Returns how many answers a request asks for. */
export function answersAskedFor(operation: Operation, json: JsonObject): number {
  if (operation === "chat") return count(json.n) ?? 1;
  if (operation !== "completions") return 1;
  return promptsOf(operation, json) * Math.max(count(json.n) ?? 1, count(json.best_of) ?? 1);
}

/** Returns how many prompts a request has: each is a conversation of its own. A list of numbers is one prompt, in tokens. */
export function promptsOf(operation: Operation, { prompt }: JsonObject): number {
  if (operation !== "completions" || !Array.isArray(prompt) || typeof prompt[0] === "number") return 1;
  return Math.max(1, prompt.length);
}

/** Returns the least output that an answer needs room for: the thinking budget that is asked for must fit. */
export function minOutputFor(operation: Operation, json: JsonObject): number {
  const thinking = operation === "messages" ? json.thinking : undefined;
  return (isObject(thinking) ? (count(thinking.budget_tokens) ?? 0) : 0) + 1;
}

/** Returns the request with a bound of its output. `chatName` names the bound of a chat request that has none. */
export function withOutputBound<W extends Wire>(operation: Operation, request: W, tokens: number, chatName: string): W {
  const json = request.outline();
  const own = boundNames(operation).filter((key) => (json[key] ?? null) !== null);
  const keys = own.length > 0 ? own : [operation === "chat" ? chatName : (boundNames(operation)[0] as string)];
  return request.with(Object.fromEntries(keys.map((key) => [key, tokens]))) as W;
}

/** Returns the names that requests of an operation may use for the bound of their output. */
function boundNames(operation: Operation): readonly string[] {
  return operation === "responses" ? ["max_output_tokens"] : ["max_tokens", "max_completion_tokens"];
}

/** Returns the larger of two bounds: upstreams differ in which of two names they follow. */
function larger(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.max(a, b);
}

function count(value: JsonValue | undefined): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}
