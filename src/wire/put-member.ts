/**
 * putMember sets a member of an object as `JSON.parse` does. Assigning `__proto__` would set the prototype, so that the member vanished
 * unseen.
 */
import type { JsonValue } from "@bufbuild/protobuf";

export function putMember(object: Record<string | number, JsonValue>, key: string | number, value: JsonValue): void {
  if (key !== "__proto__") object[key] = value;
  else Object.defineProperty(object, key, { value, configurable: true, enumerable: true, writable: true });
}
