/** JSON text that is equal for equal values, whatever the order of their keys. */
import { isObject, type JsonValue } from "../../wire/json.ts";

export function canonical(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const members = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonical(value[key] as JsonValue)}`);
  return `{${members.join(",")}}`;
}
