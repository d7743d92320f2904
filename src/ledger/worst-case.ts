/**
 * The most that a call may use, known before it is sent: every byte of its input a token, each attachment what the
 * dearest model makes of one, and as much output as the request lets the model put out.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Operation } from "../call/operations.ts";
import type { Wire } from "../wire/wire.ts";

/** What an answer may not go beyond where nobody bounds it and the catalogue does not know the model's own bound. */
export const defaultOutputTokens = 8192;
/** The default of the legacy API, which not all servers keep. */
export const defaultCompletionTokens = 16;

/** What vendors put around a conversation and around tools is in no request; in tokens, and more than any of them does. */
const envelopeTokens = 64;
const toolsTokens = 1024;

/** What a picture or sound costs at most, in tokens, whatever its bytes. */
const attachmentTokens = 65_536;
/** What a document of unknown length costs at most, in tokens, where the model's context does not bound it. */
const documentTokens = 1_000_000;

/**
 * Returns the most input tokens that a request may have, which may ask for several prompts. What a vendor's own tools
 * fetch comes on top of what the model's context holds: each of their rounds is paid as input again.
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

/** Whether any of a request's input is no text. */
export function hasAttachments(request: Wire): boolean {
  return attachmentsOf(request.outline()).tokens > 0;
}

/** Tools that run at the vendor, in every family: those that are named by a type, servers to ask, and web search. */
function usesVendorTools({ tools, input, mcp_servers, container, web_search_options }: JsonObject): boolean {
  if ((mcp_servers ?? container ?? web_search_options ?? null) !== null) return true;
  if (hasVendorTool(tools)) return true;
  // Items may bring tools along.
  return Array.isArray(input) && input.some((item) => isObject(item) && hasVendorTool(item.tools));
}

function hasVendorTool(tools: JsonValue | undefined): boolean {
  if (!Array.isArray(tools)) return false;
  return tools.some(
    (tool) => isObject(tool) && typeof tool.type === "string" && !callersOwn.has(tool.type) && !isOfCallers(tool),
  );
}

/** A namespace is whose its tools are; a search for tools may be the caller's. */
function isOfCallers({ type, tools, execution }: JsonObject): boolean {
  if (type === "tool_search") return execution === "client";
  return type === "namespace" && Array.isArray(tools) && !hasVendorTool(tools);
}

const callersOwn = new Set(["function", "custom"]);

interface Attached {
  /** What stands in the request for them, in bytes: not text. */
  bytes: number;
  tokens: number;
}

/** The keys whose value is an attachment, in every family, and what each costs at most. */
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
    // There may be a million numbers in it.
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

/** A document of Anthropic's may be given as content blocks. */
function isContentSource(key: string, member: JsonValue): boolean {
  return key === "source" && isObject(member) && member.type === "content";
}

/** The source of a search result, and of a document in plain text, is text. */
function isAttachment(key: string, member: JsonValue): boolean {
  if (key === "source") return isObject(member) && member.type !== "text";
  return typeof member === "string" || isObject(member);
}

/** Of an attachment, only what is encoded is no text. */
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

/** Returns how many output tokens a request allows for each of its answers; undefined where it does not say. */
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

/** Returns how many prompts a request has: each is a conversation of its own. A list of numbers is one, in tokens. */
export function promptsOf(operation: Operation, { prompt }: JsonObject): number {
  if (operation !== "completions" || !Array.isArray(prompt) || typeof prompt[0] === "number") return 1;
  return Math.max(1, prompt.length);
}

/** Returns the least output that an answer needs room for: a thought that was asked for must fit. */
export function leastOutput(operation: Operation, json: JsonObject): number {
  const thinking = operation === "messages" ? json.thinking : undefined;
  return (isObject(thinking) ? (count(thinking.budget_tokens) ?? 0) : 0) + 1;
}

/** Returns the request with a bound of its output. `chatName` is how a chat request names one that has none. */
export function withOutputBound<W extends Wire>(operation: Operation, request: W, tokens: number, chatName: string): W {
  const json = request.outline();
  const own = boundNames(operation).filter((key) => (json[key] ?? null) !== null);
  const keys = own.length > 0 ? own : [operation === "chat" ? chatName : (boundNames(operation)[0] as string)];
  return request.with(Object.fromEntries(keys.map((key) => [key, tokens]))) as W;
}

/** How requests of an operation may call the bound of their output. */
function boundNames(operation: Operation): readonly string[] {
  return operation === "responses" ? ["max_output_tokens"] : ["max_tokens", "max_completion_tokens"];
}

/** Upstreams differ in which of two names they heed. */
function larger(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.max(a, b);
}

function count(value: JsonValue | undefined): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}
