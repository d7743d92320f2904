/** Reads an upstream's JSON: an answer, a frame, or an error. */
import type { JsonObject } from "@bufbuild/protobuf";
import type { Operation } from "../../call/operations.ts";
import type { Wire } from "../../wire/wire.ts";
import type { Dialect } from "../dialect.ts";
import { firstOfList } from "../errors/error-fields.ts";
import type { ErrorPlace } from "../errors/errors-in-answers.ts";
import { readOrFail } from "../errors/fault.ts";

/**
 * readJson throws a Refusal for JSON that is no answer or reports an error, after `onFault` has got that JSON. Vectors are not read: they
 * hold no errors and no usage.
 */
export function readJson(
  answer: Wire,
  dialect: Dialect,
  operation: Operation,
  place: ErrorPlace,
  onFault?: (json: JsonObject) => void,
): JsonObject {
  return readOrFail(() => {
    const listed = firstOfList(answer.bytes());
    const inList = listed && dialect.errorIn(listed, Buffer.from(JSON.stringify(listed)), operation, "error");
    if (inList) throw inList;
    const json = operation === "embeddings" ? answer.outline() : answer.json();
    const refusal = dialect.errorIn(json, answer.bytes(), operation, place);
    if (refusal) {
      onFault?.(json);
      throw refusal;
    }
    return json;
  });
}
