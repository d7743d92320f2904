/** isObject tells objects of JSON from its other values, of which lists and exact numbers are objects to JavaScript, too. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isExactNumber } from "./scan/exact-number.ts";

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isExactNumber(value);
}
