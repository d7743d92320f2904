/**
 * Bounds what a call may use, before it is sent: each byte of its input counts as a token, each attachment as what its
 * vendor makes of one at most, and the output as what the request lets the model write.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Operation } from "../call/operations.ts";
import { attachedTo } from "../tokens/media/attachments.ts";
import { isObject } from "../wire/is-object.ts";
import type { Wire } from "../wire/wire.ts";

/** The bound of an answer where the request has none and the catalogue does not know the model's own. */
export const defaultOutputTokens = 8192;
/** The default of the legacy API, which not all servers follow. */
export const defaultCompletionTokens = 16;

/** Tokens that vendors add to a conversation, and for tools: more than any of them does. */
const envelopeTokens = 64;
const toolsTokens = 1024;

/** The most tokens that a vendor's own tools fetch in a round. */
const fetchedTokens = 1_000_000;

/**
 * inputBound returns the most input tokens that a request may have. `prompts` is how many prompts it has, `models` are the names that its
 * model has at its upstreams, which decide how images count; without one they count as the most that any vendor counts. What a vendor's own
 * tools fetch is added to what the model's context holds: each of their rounds is charged as input again.
 */
export function inputBound(
  request: Wire,
  contextWindow: number | undefined,
  prompts = 1,
  models: readonly string[] = [],
): number {
  const json = request.outline();
  const attached = attachedTo(request, models);
  const tools = json.tools === undefined && json.functions === undefined ? 0 : toolsTokens;
  const text = Math.max(0, request.byteLength - attached.bytes);
  const total = text + attached.tokens + envelopeTokens * prompts + tools;
  const fetched = usesVendorTools(json) ? fetchedTokens : 0;
  return (contextWindow === undefined ? total : Math.min(total, contextWindow)) + fetched;
}

/** hasAttachments reports whether some of a request's input is no text. */
export function hasAttachments(request: Wire): boolean {
  return attachedTo(request).tokens > 0;
}

/**
 * usesVendorTools reports whether a request uses tools that run at the vendor, in any family: tools named by a type, MCP servers, web
 * search.
 */
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

/** isOfCallers reports whether a tool with a type is the caller's: a namespace of the caller's tools, or a search that the client runs. */
function isOfCallers({ type, tools, execution }: JsonObject): boolean {
  if (type === "tool_search") return execution === "client";
  return type === "namespace" && Array.isArray(tools) && !hasVendorTool(tools);
}

const callersOwn = new Set(["function", "custom"]);

/** outputBound returns how many output tokens a request allows for each of its answers; undefined where it names no bound. */
export function outputBound(operation: Operation, json: JsonObject): number | undefined {
  if (operation === "chat") return withOwnName(json, larger(count(json.max_completion_tokens), count(json.max_tokens)));
  if (operation === "completions") return withOwnName(json, count(json.max_tokens));
  if (operation === "responses") return count(json.max_output_tokens);
  return operation === "messages" ? count(json.max_tokens) : 0;
}

/** llama.cpp's own name for the bound of the output. It obeys this one where a request has both. */
const ownName = "n_predict";

/** withOwnName returns the larger of a bound and that by llama.cpp's name, which is no bound if it is below 0. */
function withOwnName({ [ownName]: own = null }: JsonObject, bound: number | undefined): number | undefined {
  if (own === null) return bound;
  return count(own) === undefined ? undefined : larger(bound, count(own));
}

/** answersAskedFor returns how many answers a request asks for. */
export function answersAskedFor(operation: Operation, json: JsonObject): number {
  if (operation === "chat") return count(json.n) ?? 1;
  if (operation !== "completions") return 1;
  return promptsOf(operation, json) * Math.max(count(json.n) ?? 1, count(json.best_of) ?? 1);
}

/** promptsOf returns how many prompts a request has: each is a conversation of its own. A list of numbers is one prompt, in tokens. */
export function promptsOf(operation: Operation, { prompt }: JsonObject): number {
  if (operation !== "completions" || !Array.isArray(prompt) || typeof prompt[0] === "number") return 1;
  return Math.max(1, prompt.length);
}

/** minOutputFor returns the least output that an answer needs room for: the thinking budget that is asked for must fit. */
export function minOutputFor(operation: Operation, json: JsonObject): number {
  const thinking = operation === "messages" ? json.thinking : undefined;
  return (isObject(thinking) ? (count(thinking.budget_tokens) ?? 0) : 0) + 1;
}

/** withOutputBound returns the request with a bound of its output. `chatName` names the bound of a chat request that has none. */
export function withOutputBound<W extends Wire>(operation: Operation, request: W, tokens: number, chatName: string): W {
  const json = request.outline();
  const own = boundNames(operation).filter((key) => (json[key] ?? null) !== null);
  const keys = own.length > 0 ? own : [operation === "chat" ? chatName : (boundNames(operation)[0] as string)];
  return request.with(Object.fromEntries(keys.map((key) => [key, tokens]))) as W;
}

/** boundNames returns the names that requests of an operation may use for the bound of their output. */
function boundNames(operation: Operation): readonly string[] {
  return operation === "responses" ? ["max_output_tokens"] : ["max_tokens", "max_completion_tokens", ownName];
}

/** larger returns the larger of two bounds: upstreams differ in which of two names they follow. */
function larger(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.max(a, b);
}

function count(value: JsonValue | undefined): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}
