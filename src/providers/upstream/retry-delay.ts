/** The retry delay of Google's servers, which stands in the error's details and in no header. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject } from "../../wire/json.ts";

/**
 * retryDelayIn returns the delay of a `google.rpc.RetryInfo` in seconds, as a `Retry-After` header would have it; undefined without one.
 */
export function retryDelayIn({ details }: JsonObject): string | undefined {
  if (!Array.isArray(details)) return undefined;
  const delay = details.find(isRetryInfo)?.retryDelay;
  return typeof delay === "string" ? /^(\d{1,9}(?:\.\d{1,9})?)s$/.exec(delay)?.[1] : undefined;
}

function isRetryInfo(detail: JsonValue): detail is JsonObject {
  return isObject(detail) && typeof detail["@type"] === "string" && detail["@type"].endsWith("google.rpc.RetryInfo");
}
