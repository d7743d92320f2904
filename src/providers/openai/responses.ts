/**
 * Responses over an upstream of OpenAI's dialect. In a request only `model` is replaced, and `stream` set: what of it is the
 * gateway's has been put in its place before (`families/responses-to-responses`).
 */
import type { JsonValue } from "@bufbuild/protobuf";
import { operationUnserved } from "../../call/refusals.ts";
import type { Body } from "../../http1/client/index.ts";
import type { Attempt } from "../contract.ts";
import { responsesFaults } from "../responses/faults.ts";
import { ResponseFolder } from "../responses/fold.ts";
import { followResponse } from "../responses/follower.ts";
import { eventsOfResponse } from "../responses/frames.ts";
import { isOfUnknownPath } from "../responses/unserved.ts";
import { meterResponse } from "../responses/usage.ts";
import type { Dialect } from "../upstream/dialect.ts";

/** `refusalOf` makes the refusal of an error in whatever shape. */
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
    follow: ({ meter }) => followResponse(meter),
    framesOf: eventsOfResponse,
    folder: () => new ResponseFolder(),
  };
}

function requestBody({ request, form, model }: Attempt): Body {
  const json = request.outline();
  const isStream = form === "stream";
  const changes: Record<string, JsonValue | undefined> = {};
  if (json.model !== model) changes.model = model;
  if ((json.stream === true) !== isStream) changes.stream = isStream || undefined;
  // Servers refuse the options of a stream where none is asked for.
  if (!isStream && json.stream_options !== undefined) changes.stream_options = undefined;
  return (Object.keys(changes).length === 0 ? request : request.with(changes)).sendable();
}
