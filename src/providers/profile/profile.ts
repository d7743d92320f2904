/**
 * Reads dialect profiles: what a server takes, for each model that it serves. It is their only reader.
 *
 * Statements of a profile hold for every request. The rest is filled in conservatively, by what nearly every server
 * takes, for requests that the gateway wrote itself. A request in the server's own family is sent as its caller wrote
 * it.
 */
import type { ProfileConfig, ProfileRule } from "../../config/schema-profile.ts";

/** Capabilities is what a server takes of requests to one model, as far as stated. */
export type Capabilities = Omit<ProfileRule, "match">;
/** OwnFacts are lists of all keys that a server takes, and what switches its reasoning off: there is none that nearly every server has. */
type OwnFacts = "request_keys" | "message_keys" | "effort_none";
/** AllCapabilities leaves nothing else out. */
export type AllCapabilities = Pick<Capabilities, OwnFacts> & {
  readonly [fact in Exclude<keyof Capabilities, OwnFacts>]-?: NonNullable<Capabilities[fact]>;
};

export interface ModelProfile {
  /** stated is what the profile states. */
  readonly stated: Capabilities;
  /** The same, with conservative values for what is not stated. */
  readonly conservative: AllCapabilities;
}

export type ProfiledOperation = keyof NonNullable<ProfileConfig["operations"]>;

export interface Profile {
  /** Returns the path of an operation below the base address; undefined where it is not served. */
  pathOf(operation: ProfiledOperation): string | undefined;
  /** Returns the profile of a model by its name at the upstream. */
  of(model: string): ModelProfile;
}

/** The operations of a server without a stated list. */
const usual: NonNullable<ProfileConfig["operations"]> = {
  chat: "/chat/completions",
  completions: "/completions",
  embeddings: "/embeddings",
  speech: "/audio/speech",
};

/** Keys of OpenAI's own service. Other servers ignore them, and strict ones refuse them. */
const ofOpenAiOnly = [
  ...["prompt_cache_key", "prompt_cache_retention", "safety_identifier", "service_tier", "verbosity"],
  "web_search_options",
];

const conservative: AllCapabilities = {
  output_bound: "max_tokens",
  least_output: 1,
  developer: "system",
  system: "first",
  plain_text: ["system", "assistant", "tool"],
  refuses: ofOpenAiOnly,
  refuses_reasoning: [],
  refuses_responses: [],
  responses: "when_asked",
  responses_items: "plain",
  reasoning_items: "plain",
  efforts: [],
  efforts_responses: [],
  efforts_instead: {},
  effort_key: "reasoning_effort",
  effort_default: "none",
  demanded_calls: "any",
  tools: ["function"],
  reasoned_tools: true,
  thoughts: "reasoning_content",
  thoughts_demanded: false,
  call_ids: "any",
  item_ids: "any",
  result_media: "kept",
  after_calls: "any",
  after_tools: "any",
  last_turn: "any",
  empty_turns: "any",
  turns: "any",
  turn_calls: "any",
  null_content: "any",
  schemas: "whole",
  cache_marks: "none",
  include_usage: true,
  response_formats: ["json_object", "json_schema"],
};

export function createProfile(config: ProfileConfig): Profile {
  const { operations = usual, models = [], ...base } = config;
  const rules = models.map(({ match, ...capabilities }) => ({ matches: matcherOf(match), capabilities }));
  const known = new Map<string, ModelProfile>();
  const read = (model: string): ModelProfile => {
    const matching = rules.filter(({ matches }) => matches(model)).map(({ capabilities }) => capabilities);
    const stated: Capabilities = [base, ...matching].reduce(merge, {});
    // No stated capability is undefined.
    return { stated, conservative: { ...conservative, ...stated } as AllCapabilities };
  };
  return {
    pathOf: (operation) => operations[operation],
    of(model) {
      const found = known.get(model) ?? read(model);
      known.set(model, found);
      return found;
    },
  };
}

/** merge merges two rules. Lists of refused keys add up; of all else the later value holds. */
function merge(capabilities: Capabilities, further: Capabilities): Capabilities {
  const joined = { ...capabilities, ...further };
  for (const key of ["refuses", "refuses_reasoning", "refuses_responses"] as const) {
    if (capabilities[key] && further[key]) joined[key] = [...capabilities[key], ...further[key]];
  }
  return joined;
}

/** A pattern without a slash matches what follows the last slash: aggregators put the maker's name before it. */
function matcherOf(patterns: readonly string[]): (model: string) => boolean {
  const named = patterns.map((pattern) => ({ isWhole: pattern.includes("/"), expression: expressionOf(pattern) }));
  return (model) => {
    const last = model.slice(model.lastIndexOf("/") + 1);
    return named.some(({ isWhole, expression }) => expression.test(isWhole ? model : last));
  };
}

function expressionOf(pattern: string): RegExp {
  const text = pattern
    .replace(/[.+^${}()|[\]\\]/g, "\\$&")
    .replace(/\*+/g, ".*")
    .replaceAll("?", ".");
  return new RegExp(`^${text}$`, "i");
}
