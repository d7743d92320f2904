/**
 * Converts numbers and booleans that JSON may write as strings: the fields that the specification of the service lists as strings,
 * and no others. They are read as those of a form.
 *
 * Source: SPEC 4.3, 4.5. A string that does not fit the field's type stays, for the codec to refuse by its path.
 */
import type { DescMessage } from "@bufbuild/protobuf";
import { CreateCompletionRequestSchema } from "../../../gen/modelgateway/v1/completions_pb.ts";
import { CreateSpeechRequestSchema } from "../../../gen/modelgateway/v1/speech_pb.ts";
import type { JsonValue } from "../../wire/json.ts";
import { planOf } from "../../wire/plan.ts";
import type { Wire } from "../../wire/wire.ts";
import { readScalar } from "./form-text.ts";

const listed: ReadonlyMap<DescMessage, readonly string[]> = new Map<DescMessage, readonly string[]>([
  [CreateCompletionRequestSchema, ["max_tokens", "stream"]],
  [CreateSpeechRequestSchema, ["speed"]],
]);

/** The longest string that is converted, in characters. An outline does not have longer ones in full. */
const maxLength = 64;

/** withListedStrings returns the request with these fields converted. Throws a WireFault where it is no JSON object. */
export function withListedStrings(request: Wire): Wire {
  const keys = listed.get(request.desc);
  if (!keys) return request;
  const outline = request.outline();
  const changes: Record<string, JsonValue | undefined> = {};
  for (const key of keys) {
    const written = outline[key];
    const field = planOf(request.desc).byKey.get(key);
    if (typeof written !== "string" || written.length > maxLength || field?.kind !== "field") continue;
    const read = readScalar(field.value, written);
    if (typeof read === "number" || typeof read === "boolean" || read === undefined) changes[key] = read;
  }
  return Object.keys(changes).length > 0 ? request.with(changes) : request;
}
