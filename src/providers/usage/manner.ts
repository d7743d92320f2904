/**
 * How a request wants to be served beyond the ordinary, and how an answer says that it was: what vendors have other prices for.
 *
 * Each vendor has its own words for the ordinary way, which are one here. What is no word is none.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Manner, ToldManner } from "../../call/usage.ts";
import { isObject } from "../../wire/json.ts";

export interface RequestedManner extends Manner {
  /** The most searches of the web that the request may make. */
  readonly searches: number;
  /** Those that it makes in any case, whether or not its answer tells of them. */
  readonly certainSearches: number;
}

const ordinary: RequestedManner = { tier: "", speed: "", region: "", searches: 0, certainSearches: 0 };

const ordinaryTiers: ReadonlySet<string> = new Set(["default", "standard", "standard_only", "on_demand"]);
const ordinarySpeeds: ReadonlySet<string> = new Set(["standard", "default"]);
const anywhere: ReadonlySet<string> = new Set(["global", "not_available"]);

/** Returns so much of it as is said, in an answer or in its usage; undefined where nothing is. */
export function reportedManner({ service_tier, speed, inference_geo }: JsonObject): ToldManner | undefined {
  const tier = wordOf(service_tier, ordinaryTiers);
  const said = { tier: tier === "auto" ? undefined : tier, speed: wordOf(speed, ordinarySpeeds) };
  const region = wordOf(inference_geo, anywhere);
  const isNothing = said.tier === undefined && said.speed === undefined && region === undefined;
  return isNothing ? undefined : { ...said, region };
}

/** Reads what a request asks for, in the words of whichever operation. */
export function requestedManner(request: JsonObject): RequestedManner {
  const tier = wordOf(request.service_tier, ordinaryTiers) ?? "";
  const speed = wordOf(request.speed, ordinarySpeeds) ?? "";
  const region = wordOf(request.inference_geo, anywhere) ?? "";
  const sureSearches = sureSearchesOf(request);
  const searches = sureSearches + toolSearchesOf(request);
  if (tier === "" && speed === "" && region === "" && searches === 0) return ordinary;
  return { tier, speed, region, searches, certainSearches: sureSearches };
}

/** Returns the word, "" for an ordinary one, undefined where none is said. */
function wordOf(value: JsonValue | undefined, ordinaryWords: ReadonlySet<string>): string | undefined {
  if (typeof value !== "string") return undefined;
  const word = value.trim().toLowerCase();
  return ordinaryWords.has(word) ? "" : word;
}

/** OpenAI's and OpenRouter's ways to ask for a search with each answer. */
function sureSearchesOf({ web_search_options, plugins }: JsonObject): number {
  const asked = isObject(web_search_options) ? 1 : 0;
  if (!Array.isArray(plugins)) return asked;
  return asked + plugins.filter((plugin) => isObject(plugin) && plugin.id === "web").length;
}

/** What a model searches at most where the request does not bound it. */
const usualSearches = 20;
/** The types of tools that search the web, in all families. */
const searching = /^(openrouter:)?web_search/;
/** Those of Anthropic, by their day: no other heeds how often they may be used. */
const heedsBound = /^web_search_\d{8}$/;
/** The types of tools of responses that are paid by the call, the container or the picture, at OpenAI and xAI. */
const paidOtherwise = /^(code_interpreter|file_search|image_generation|x_search|collections_search)$/;

/** Returns by what a tool of responses is paid beside tokens, if by anything. */
export function toolFee({ type, environment }: JsonObject): "search" | "other" | undefined {
  if (typeof type !== "string") return undefined;
  if (searching.test(type)) return "search";
  const isHosted = type === "shell" && isObject(environment) && environment.type !== "local";
  return isHosted || paidOtherwise.test(type) ? "other" : undefined;
}

/** Searches that the model makes where it wants to: by tools, which items bring along too, and at xAI by parameters. */
function toolSearchesOf({ tools, input, search_parameters, max_tool_calls: most }: JsonObject): number {
  let searches = 0;
  if (isObject(search_parameters) && search_parameters.mode !== "off") {
    searches += boundOf(search_parameters.max_search_results);
  }
  searches += searchesBy(tools);
  if (Array.isArray(input)) for (const item of input) if (isObject(item)) searches += searchesBy(item.tools);
  return Number.isSafeInteger(most) && (most as number) >= 0 ? Math.min(searches, most as number) : searches;
}

function searchesBy(tools: JsonValue | undefined): number {
  if (!Array.isArray(tools)) return 0;
  let searches = 0;
  for (const tool of tools) {
    if (!isObject(tool)) continue;
    const { type } = tool;
    if (typeof type === "string" && searching.test(type)) {
      searches += heedsBound.test(type) ? boundOf(tool.max_uses) : usualSearches;
    }
    // A namespace has tools of its own.
    searches += searchesBy(tool.tools);
  }
  return searches;
}

function boundOf(value: JsonValue | undefined): number {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : usualSearches;
}
