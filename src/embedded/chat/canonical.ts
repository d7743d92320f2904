/** JSON text that is equal for equal values, whatever the order of their keys. */
import type { JsonValue } from "../../wire/json.ts";

export function canonical(value: JsonValue): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  const members = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonical(value[key] as JsonValue)}`);
  return `{${members.join(",")}}`;
}
