/** Tells whether an answer of embeddings has all that it was asked for: clients take vectors by their place. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject } from "../../wire/json.ts";

/** hasAllVectors reports whether each input of the request has its vector. Of a long answer the outline suffices, in which vectors are empty. */
export function hasAllVectors({ data }: JsonObject, { input = null }: JsonObject): boolean {
  return Array.isArray(data) && data.length >= inputsOf(input) && data.every(isVector);
}

/** inputsOf returns how many vectors an input asks for. A list of numbers is one text, in tokens. */
function inputsOf(input: JsonValue): number {
  if (!Array.isArray(input)) return 1;
  return input.every((item) => typeof item === "string" || Array.isArray(item)) ? input.length : 1;
}

function isVector(item: JsonValue): boolean {
  return isObject(item) && (Array.isArray(item.embedding) || typeof item.embedding === "string");
}
