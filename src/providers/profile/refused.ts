/** The keys of a request that its server refuses. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Capabilities } from "./profile.ts";

/** refusedIn returns the refused keys that the request has: those refused always and those refused while the model reasons. */
export function refusedIn(
  json: JsonObject,
  always: readonly string[] = [],
  { refuses_reasoning = [] }: Capabilities,
  reasons: boolean,
): string[] {
  const refused = new Set(reasons ? [...always, ...refuses_reasoning] : always);
  return [...refused].filter((key) => (json[key] ?? null) !== null);
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

export function isDefault(key: string, value: JsonValue | undefined): boolean {
  return defaults.get(key) === value;
}
