/** The keys of a request that its server refuses. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isEmptyList } from "../../../call/tools/tool-input.ts";
import type { Capabilities } from "../profile.ts";

/**
 * refusedIn returns the refused keys that the request has: those refused always and those refused while the model reasons. A server that
 * refuses a key refuses it with null, too, as some SDKs write it.
 */
export function refusedIn(
  json: JsonObject,
  always: readonly string[] = [],
  { refuses_reasoning = [] }: Capabilities,
  reasons: boolean,
): string[] {
  const refused = new Set(reasons ? [...always, ...refuses_reasoning] : always);
  return [...refused].filter((key) => json[key] !== undefined);
}

/** ofEveryCall are keys that every server takes, or that are fitted by themselves. */
const ofEveryCall = ["model", "messages", "stream", "stream_options", "max_tokens", "max_completion_tokens"];

/** unknownIn returns the keys of a chat request that its server does not know, where all are known that it takes. */
export function unknownIn(json: JsonObject, { request_keys: taken }: Capabilities): string[] {
  if (taken === undefined) return [];
  return Object.keys(json).filter((key) => !taken.includes(key) && !ofEveryCall.includes(key));
}

/** refusesKey reports whether a server refuses a key always, or does not know it, where all are known that it takes. */
export function refusesKey(key: string, { refuses = [], request_keys: taken }: Capabilities): boolean {
  return refuses.includes(key) || (taken !== undefined && !taken.includes(key));
}

/** Default values. Nothing is lost when they are left out. */
const defaults: ReadonlyMap<string, JsonValue> = new Map<string, JsonValue>([
  ["temperature", 1],
  ["top_p", 1],
  ["n", 1],
  ["presence_penalty", 0],
  ["frequency_penalty", 0],
  ["logprobs", false],
  ["top_logprobs", 0],
  ["store", false],
  ["truncation", "disabled"],
  ["parallel_tool_calls", true],
]);

/** isDefault reports whether a value says nothing. An empty object may: it asks for a search of the web. */
export function isDefault(key: string, value: JsonValue | undefined): boolean {
  return value === null || isEmptyList(value) || defaults.get(key) === value;
}
