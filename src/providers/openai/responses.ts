/**
 * Responses over an upstream of OpenAI's dialect. In a request `model` is replaced and `stream` is set; the gateway's
 * own members have been set before (`families/responses-to-responses`).
 */
import { operationUnserved } from "../../call/refusals.ts";
import type { Body } from "../../http1/client/index.ts";
import type { Attempt } from "../contract.ts";
import { type Dialect, requestBody } from "../dialect.ts";
import type { RefusalOf } from "../errors/errors-in-answers.ts";
import { isOfUnknownPath } from "../errors/unknown-path.ts";
import { withForeignEvents } from "../frames/native/foreign-pieces.ts";
import { ResponseAccumulator } from "../responses/accumulator.ts";
import { responsesFaults } from "../responses/faults.ts";
import { eventsOfResponse } from "../responses/frames.ts";
import { trackResponse } from "../responses/tracker.ts";
import { meterResponse } from "../responses/usage.ts";
import { changesOfResponse } from "../responses/usual-items.ts";

/** responsesDialect returns the dialect of /responses at a server whose chat has these header fields and refusals. */
export function responsesDialect(
  { common, refusal }: Pick<Dialect, "common" | "refusal">,
  refusalOf: RefusalOf,
): Dialect {
  const errorIn = responsesFaults(refusalOf);
  return {
    common,
    body: bodyOf,
    refusal: (error) => (isOfUnknownPath(error) ? operationUnserved("responses") : refusal(error)),
    errorIn,
    changes: changesOfResponse,
    measure: meterResponse,
    namesEvents: true,
    track: (attempt) => withForeignEvents(trackResponse(attempt), errorIn),
    framesOf: eventsOfResponse,
    accumulator: () => new ResponseAccumulator(),
  };
}

/** Servers refuse stream options without a stream. */
function bodyOf(attempt: Attempt): Body {
  const isRefused =
    (attempt.asked ?? attempt.form) === "whole" && attempt.request.outline().stream_options !== undefined;
  return requestBody(attempt, isRefused ? { stream_options: undefined } : {});
}
