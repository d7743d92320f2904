/**
 * Bounds what a call may use, before it is sent: each byte of its input counts as a token, each attachment as what its
 * vendor makes of one at most, and the output as what the request lets the model write.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Operation } from "../call/operations.ts";
import { continuesThread } from "../call/request/stored-thread.ts";
import { isSearchedFor, searchesBySettings } from "../call/request/web-searches.ts";
import { toolsAnywhere } from "../call/tools/tools-anywhere.ts";
import { attachedTo } from "../tokens/media/attachments.ts";
import { isObject } from "../wire/is-object.ts";
import type { Wire } from "../wire/wire.ts";

/** defaultOutputTokens is the bound of an answer where the request has none and the catalogue does not know the model's own. */
export const defaultOutputTokens = 8192;
/** defaultCompletionTokens is the default of the legacy API, which not all servers follow. */
export const defaultCompletionTokens = 16;

/** Tokens that vendors add to a conversation, and for tools: more than any of them does. */
const envelopeTokens = 64;
const toolsTokens = 1024;

/** The most tokens of a conversation that a vendor keeps, where the catalogue does not know what the model's context holds. */
const keptTokens = 1_000_000;
/** The most tokens that a vendor's own tools fetch in a round. */
const fetchedTokens = 1_000_000;

/**
 * inputBound returns the most input tokens that a request may have. `prompts` is how many prompts it has, `models` are the names that its
 * model has at its upstreams, which decide how images count; without one they count as the most that any vendor counts. A conversation that the
 * vendor keeps counts as all that the model's context holds. What a vendor's own tools fetch is added to that: each of their rounds is charged
 * as input again.
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
  const kept = continuesThread(json) ? (contextWindow ?? keptTokens) : 0;
  const total = text + attached.tokens + envelopeTokens * prompts + tools + kept;
  const fetched = usesVendorTools(json) || models.some(isSearchedFor) ? fetchedTokens : 0;
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
export function usesVendorTools(request: JsonObject): boolean {
  const { mcp_servers, container, web_search_options } = request;
  if ((mcp_servers ?? container ?? web_search_options ?? null) !== null) return true;
  return searchesBySettings(request) || toolsAnywhere(request).some(isVendors);
}

/** isVendors reports whether a tool runs at the vendor. A namespace is what its tools are, and a search may be one that the client runs. */
function isVendors({ type, tools, execution }: JsonObject): boolean {
  if (typeof type !== "string" || callersOwn.has(type)) return false;
  if (type === "tool_search") return execution !== "client";
  return type !== "namespace" || !Array.isArray(tools);
}

const callersOwn = new Set(["function", "custom"]);

/** llama.cpp's own name for the bound of the output. It obeys this one where a request has both. */
const ownName = "n_predict";

/** BoundNames are the names of the bound of the output: `usual` are those of the API, `others` those that only some of its servers obey. */
interface BoundNames {
  readonly usual: readonly string[];
  readonly others: readonly string[];
}

const boundNames: { readonly [operation in Operation]?: BoundNames } = {
  chat: { usual: ["max_tokens", "max_completion_tokens"], others: [ownName] },
  completions: { usual: ["max_tokens"], others: ["max_completion_tokens", ownName] },
  messages: { usual: ["max_tokens"], others: ["max_completion_tokens", ownName] },
  responses: { usual: ["max_output_tokens"], others: [ownName] },
};

/**
 * outputBound returns how many output tokens a request allows for each of its answers: the largest of its bounds, for upstreams differ in
 * which of the names they obey. Returns undefined where it names no bound, or one that only some servers obey and that is none.
 */
export function outputBound(operation: Operation, json: JsonObject): number | undefined {
  const names = boundNames[operation];
  if (!names) return 0;
  let bound: number | undefined;
  for (const name of names.usual) bound = larger(bound, count(json[name]));
  for (const name of names.others) {
    const other = json[name] ?? null;
    if (other === null) continue;
    if (count(other) === undefined) return undefined;
    bound = larger(bound, count(other));
  }
  return bound;
}

/** isBoundUnusual reports whether a request names its bound only as some servers obey it, while others would not know of any. */
export function isBoundUnusual(operation: Operation, json: JsonObject): boolean {
  const names = boundNames[operation];
  return (
    names !== undefined &&
    !names.usual.some((name) => count(json[name]) !== undefined) &&
    names.others.some((name) => count(json[name]) !== undefined)
  );
}

/**
 * zeroBoundOf says what becomes of a bound of 0, which many servers take for none. It is `raised` to 1 where the API has no 0. Legacy
 * completions have one, for a prompt whose tokens are told: it is passed on `doubted`, with as much held as the model may write. Messages
 * have one, too, for a prompt that is to be cached, which no server takes for none. Undefined for these, for other bounds and for none.
 */
export function zeroBoundOf(operation: Operation, json: JsonObject): "raised" | "doubted" | undefined {
  if (operation === "messages" || !boundNames[operation] || outputBound(operation, json) !== 0) return undefined;
  return operation === "completions" && !isBoundUnusual(operation, json) ? "doubted" : "raised";
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
  const names = boundNames[operation];
  if (!names) return request;
  const { usual, others } = names;
  const isThere = (name: string) => (json[name] ?? null) !== null;
  const own = usual.filter(isThere);
  const named = own.length > 0 ? own : [operation === "chat" ? chatName : (usual[0] as string)];
  return request.with(Object.fromEntries([...named, ...others.filter(isThere)].map((key) => [key, tokens]))) as W;
}

/** larger returns the larger of two bounds, either of which may be missing. */
function larger(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.max(a, b);
}

function count(value: JsonValue | undefined): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}
