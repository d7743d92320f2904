/**
 * The manner of service beyond the standard one that a request asks for and an answer reports: tier, speed, region
 * and searches, for which vendors charge other prices.
 *
 * Each vendor has its own words for the standard manner, which are one here. Values that are not strings are ignored.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isSearchedFor, searchSettingsOf } from "../../call/request/web-searches.ts";
import { toolsAnywhere } from "../../call/tools/tools-anywhere.ts";
import type { Manner, ToldManner } from "../../call/usage.ts";
import { isObject } from "../../wire/json.ts";

export interface RequestedManner extends Manner {
  /** The most web searches that the request may make. */
  readonly searches: number;
  /** The web searches that are made in any case, whether or not the answer reports them. */
  readonly certainSearches: number;
}

const ordinary: RequestedManner = { tier: "", speed: "", region: "", searches: 0, certainSearches: 0 };

const ordinaryTiers: ReadonlySet<string> = new Set(["default", "standard", "standard_only", "on_demand"]);
const ordinarySpeeds: ReadonlySet<string> = new Set(["standard", "default"]);
const anywhere: ReadonlySet<string> = new Set(["global", "not_available"]);

/** reportedManner returns what an answer or its usage reports; undefined where it reports nothing. */
export function reportedManner({ service_tier, speed, inference_geo }: JsonObject): ToldManner | undefined {
  const tier = wordOf(service_tier, ordinaryTiers);
  const reported = { tier: tier === "auto" ? undefined : tier, speed: wordOf(speed, ordinarySpeeds) };
  const region = wordOf(inference_geo, anywhere);
  const isNothing = reported.tier === undefined && reported.speed === undefined && region === undefined;
  return isNothing ? undefined : { ...reported, region };
}

/** requestedManner reads what a request asks for, in any operation. */
export function requestedManner(request: JsonObject): RequestedManner {
  const tier = wordOf(request.service_tier, ordinaryTiers) ?? "";
  const speed = wordOf(request.speed, ordinarySpeeds) ?? "";
  const region = wordOf(request.inference_geo, anywhere) ?? "";
  const sureSearches = sureSearchesOf(request);
  const searches = sureSearches + toolSearchesOf(request) + switchedSearchesOf(request);
  const certainSearches = Math.max(sureSearches, isSearchCertain(request) ? 1 : 0);
  if (tier === "" && speed === "" && region === "" && searches + certainSearches === 0) return ordinary;
  return { tier, speed, region, searches, certainSearches };
}

/** wordOf returns the word, "" for a standard one, undefined without any. */
function wordOf(value: JsonValue | undefined, ordinaryWords: ReadonlySet<string>): string | undefined {
  if (typeof value !== "string") return undefined;
  const word = value.trim().toLowerCase();
  return ordinaryWords.has(word) ? "" : word;
}

/** sureSearchesOf counts the searches that OpenAI's and OpenRouter's options demand with each answer. */
function sureSearchesOf(request: JsonObject): number {
  return (isObject(request.web_search_options) ? 1 : 0) + searchSettingsOf(request).plugins;
}

/** usualSearches is the number of searches assumed where the request sets no bound. */
export const usualSearches = 20;

/** The names, at their vendors, of models that search for every answer: Perplexity's and OpenAI's. */
const ofSearchers = /(?:^|[/:.])sonar(?:-|$)|-search-(?:preview|api)(?:-|$)/;

function alwaysSearches(model: string): boolean {
  return ofSearchers.test(model) || isSearchedFor(model);
}

/** Groq's systems, which search as they see fit. */
const ofSystems = /(?:^|\/)compound(?:-|$)/;

/** unaskedSearchesOf returns the most web searches that a model of this name makes for a request that asks for none. */
export function unaskedSearchesOf(model: string): number {
  return alwaysSearches(model) || ofSystems.test(model) ? usualSearches : 0;
}

/** switchedSearchesOf counts the searches that a request lets the model make by Alibaba's switch. */
function switchedSearchesOf(request: JsonObject): number {
  return searchSettingsOf(request).isSwitchedOn ? usualSearches : 0;
}

/** isSearchCertain reports whether a search is made whatever the model thinks of it. */
function isSearchCertain(request: JsonObject): boolean {
  const { model, search_options } = request;
  if (typeof model === "string" && alwaysSearches(model)) return true;
  return searchSettingsOf(request).isSwitchedOn && isObject(search_options) && search_options.forced_search === true;
}

/** The types of web search tools, in all families; the last is Groq's. */
const searching = /^((openrouter:)?web_search|browser_search$)/;
/** Anthropic's dated types. Only these honour a bound on their uses. */
const heedsBound = /^web_search_\d{8}$/;
/** The types of tools of responses that are charged by the call, the container or the image, at OpenAI and xAI. */
const paidOtherwise = /^(code_interpreter|file_search|image_generation|x_search|collections_search)$/;

/** The types of tools by which a vendor calls another model: that has a price, and a permission, of its own. */
const ofOtherModels = /^(advisor_\d{8}|openrouter:(advisor|subagent|fusion|image_generation))$/;

/** toolOfOtherModels returns the type of the tool by which a request lets its vendor call another model; undefined where there is none. */
export function toolOfOtherModels(request: JsonObject): string | undefined {
  const types = toolsAnywhere(request).map(({ type }) => (typeof type === "string" ? type : ""));
  return types.find((type) => ofOtherModels.test(type));
}

/** isSearchTool reports whether a tool searches the web. Moonshot's has a type of several, and a name of its own. */
function isSearchTool(tool: JsonObject): boolean {
  const { type, function: own } = tool;
  if (type === "builtin_function") return isObject(own) && own.name === "$web_search";
  return typeof type === "string" && searching.test(type);
}

/** toolFee returns what a tool of responses is charged for beside tokens, if anything. */
export function toolFee(tool: JsonObject): "search" | "other" | undefined {
  const { type, environment } = tool;
  if (typeof type !== "string") return undefined;
  if (isSearchTool(tool)) return "search";
  const isHosted = type === "shell" && isObject(environment) && environment.type !== "local";
  return isHosted || paidOtherwise.test(type) || ofOtherModels.test(type) ? "other" : undefined;
}

/**
 * toolSearchesOf counts the searches that the model may make: by tools, and at xAI by parameters. The bound of all calls is one of responses: no
 * server of another API heeds it.
 */
function toolSearchesOf(request: JsonObject): number {
  const { messages, max_tool_calls: most } = request;
  const { parameters } = searchSettingsOf(request);
  let searches = parameters ? boundOf(parameters.max_search_results) : 0;
  for (const tool of toolsAnywhere(request)) searches += searchesBy(tool);
  const isBounded = messages === undefined && Number.isSafeInteger(most) && (most as number) >= 0;
  return isBounded ? Math.min(searches, most as number) : searches;
}

function searchesBy(tool: JsonObject): number {
  if (!isSearchTool(tool)) return 0;
  return heedsBound.test(tool.type as string) ? boundOf(tool.max_uses) : usualSearches;
}

function boundOf(value: JsonValue | undefined): number {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : usualSearches;
}
