/** The keys of a request that its server refuses. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Capabilities } from "./profile.ts";

/** Returns those that the request has, of the keys refused always and of those refused while the model reasons. */
export function refusedIn(
  json: JsonObject,
  always: readonly string[] = [],
  { refuses_reasoning = [] }: Capabilities,
  reasons: boolean,
): string[] {
  const refused = new Set(reasons ? [...always, ...refuses_reasoning] : always);
  return [...refused].filter((key) => (json[key] ?? null) !== null);
}

/** Values that say what is so anyway: nothing is lost with them. */
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

export function isDefault(key: string, value: JsonValue | undefined): boolean {
  return defaults.get(key) === value;
}
