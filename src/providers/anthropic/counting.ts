/**
 * The dialect of counts of tokens. Many servers that resemble Anthropic's have no such path, or answer there with something else: these serve
 * no counts, which are made without them then (`pipeline/charge/count-tokens.ts`). A count may come with a message around it, in its usage.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { operationUnserved } from "../../call/refusals.ts";
import { isObject } from "../../wire/json.ts";
import type { Dialect } from "../dialect.ts";
import { namesError } from "../errors/errors-in-answers.ts";
import { isOfUnknownPath } from "../errors/unknown-path.ts";
import { countOf } from "../usage/count.ts";

const unserved = () => operationUnserved("counts of tokens");

/** countingDialect returns the dialect of counts at a server of these messages. */
export function countingDialect(messages: Dialect): Dialect {
  return {
    ...messages,
    refusal: (error) => (isOfUnknownPath(error) ? unserved() : messages.refusal(error)),
    errorIn(json, bytes, operation, place) {
      if (namesError(json)) return messages.errorIn(json, bytes, operation, place);
      return countIn(json) === undefined ? unserved() : undefined;
    },
    changes: (json) => (typeof json.input_tokens === "number" ? undefined : { input_tokens: countIn(json) ?? 0 }),
  };
}

/** names are those of the count: Anthropic's first, and those of servers that translate. */
const names = ["input_tokens", "prompt_tokens", "total_tokens"] as const;

function countIn({ usage, ...answer }: JsonObject): number | undefined {
  const places = isObject(usage) ? [answer, usage] : [answer];
  return places.flatMap((place) => names.map((name) => numberIn(place[name]))).find((count) => count !== undefined);
}

function numberIn(value: JsonValue | undefined): number | undefined {
  return countOf(typeof value === "string" && /^\d{1,9}$/.test(value) ? Number(value) : value);
}
