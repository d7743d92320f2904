/** When Google's servers want to be asked again: their errors say it among their details, and no header does. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject } from "../../wire/json.ts";

/** Returns the delay of a `google.rpc.RetryInfo` as a `Retry-After` header tells it, in seconds; undefined where there is none. */
export function retryDelayIn({ details }: JsonObject): string | undefined {
  if (!Array.isArray(details)) return undefined;
  const delay = details.find(isRetryInfo)?.retryDelay;
  return typeof delay === "string" ? /^(\d{1,9}(?:\.\d{1,9})?)s$/.exec(delay)?.[1] : undefined;
}

function isRetryInfo(detail: JsonValue): detail is JsonObject {
  return isObject(detail) && typeof detail["@type"] === "string" && detail["@type"].endsWith("google.rpc.RetryInfo");
}
