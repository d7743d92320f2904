/**
 * Responses over an upstream of OpenAI's dialect. In a request `model` is replaced and `stream` is set; the gateway's
 * own members have been set before (`families/responses-to-responses`).
 */
import type { JsonValue } from "@bufbuild/protobuf";
import { operationUnserved } from "../../call/refusals.ts";
import type { Body } from "../../http1/client/index.ts";
import type { Attempt } from "../contract.ts";
import type { Dialect } from "../dialect.ts";
import { ResponseAccumulator } from "../responses/accumulator.ts";
import { responsesFaults } from "../responses/faults.ts";
import { eventsOfResponse } from "../responses/frames.ts";
import { trackResponse } from "../responses/tracker.ts";
import { isOfUnknownPath } from "../responses/unserved.ts";
import { meterResponse } from "../responses/usage.ts";

/** `refusalOf` turns an error of any shape into a refusal. */
export function responsesDialect(
  { common, refusal }: Pick<Dialect, "common" | "refusal">,
  refusalOf: Parameters<typeof responsesFaults>[0],
): Dialect {
  return {
    common,
    body: requestBody,
    refusal: (error) => (isOfUnknownPath(error) ? operationUnserved("responses") : refusal(error)),
    errorIn: responsesFaults(refusalOf),
    measure: meterResponse,
    namesEvents: true,
    track: trackResponse,
    framesOf: eventsOfResponse,
    accumulator: () => new ResponseAccumulator(),
  };
}

function requestBody({ request, form, model }: Attempt): Body {
  const json = request.outline();
  const isStream = form === "stream";
  const changes: Record<string, JsonValue | undefined> = {};
  if (json.model !== model) changes.model = model;
  if ((json.stream === true) !== isStream) changes.stream = isStream || undefined;
  // Servers refuse stream options without a stream.
  if (!isStream && json.stream_options !== undefined) changes.stream_options = undefined;
  return (Object.keys(changes).length === 0 ? request : request.with(changes)).sendable();
}
