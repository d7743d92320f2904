/**
 * Reads dialect profiles: what a server takes, for each model that it serves. The only reader of them.
 *
 * A fact that a profile states holds for every request. What it leaves out is filled in carefully, by what nearly every server
 * takes, for requests that the gateway has written itself; a request in the server's own family goes on as its caller wrote it.
 */
import type { ProfileConfig, ProfileRule } from "../../config/schema-profile.ts";

/** Of one model, all that is to be known of what its server takes. */
export type Capabilities = Omit<ProfileRule, "match">;
/** None of them left out. */
export type AllCapabilities = { readonly [fact in keyof Capabilities]-?: NonNullable<Capabilities[fact]> };

export interface ModelProfile {
  /** What the profile states. */
  readonly stated: Capabilities;
  /** The same, with what is careful in the place of what is not stated. */
  readonly conservative: AllCapabilities;
}

export type ProfiledOperation = keyof NonNullable<ProfileConfig["operations"]>;

export interface Profile {
  /** Where an operation is served, below the base address; undefined where it is not. */
  pathOf(operation: ProfiledOperation): string | undefined;
  /** By the model's name at the upstream. */
  of(model: string): ModelProfile;
}

/** What a server serves of which nobody has said anything. */
const usual: NonNullable<ProfileConfig["operations"]> = {
  chat: "/chat/completions",
  completions: "/completions",
  embeddings: "/embeddings",
  speech: "/audio/speech",
};

/** Keys of OpenAI's own service, which servers refuse that take no key that they do not know, and others ignore. */
const ofOpenAiOnly = [
  ...["prompt_cache_key", "prompt_cache_retention", "safety_identifier", "service_tier", "verbosity"],
  "web_search_options",
];

const careful: AllCapabilities = {
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
  efforts_instead: {},
  effort_key: "reasoning_effort",
  effort_default: "none",
  tools: ["function"],
  thoughts: "reasoning_content",
  include_usage: true,
  response_formats: ["json_object", "json_schema"],
};

export function createProfile(config: ProfileConfig): Profile {
  const { operations = usual, models = [], ...base } = config;
  const rules = models.map(({ match, ...facts }) => ({ matches: matcherOf(match), facts }));
  const known = new Map<string, ModelProfile>();
  const read = (model: string): ModelProfile => {
    const matching = rules.filter(({ matches }) => matches(model)).map(({ facts }) => facts);
    const stated: Capabilities = [base, ...matching].reduce(over, {});
    // No fact that is stated is undefined.
    return { stated, conservative: { ...careful, ...stated } as AllCapabilities };
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

/** What is refused adds up; of all else the later word holds. */
function over(facts: Capabilities, further: Capabilities): Capabilities {
  const joined = { ...facts, ...further };
  for (const key of ["refuses", "refuses_reasoning", "refuses_responses"] as const) {
    if (facts[key] && further[key]) joined[key] = [...facts[key], ...further[key]];
  }
  return joined;
}

/** A pattern without a slash is of what stands behind the last one, for aggregators put a maker's name before it. */
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
