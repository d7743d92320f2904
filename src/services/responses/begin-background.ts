/** Begins a response in the background: what it is asked, and how it stands before anything is made of it. */
import { Outcome } from "../../../gen/modelgateway/v1/usage_pb.ts";
import type { Call } from "../../call/call.ts";
import { invalidValue } from "../../call/refusals.ts";
import { idempotencyKeyOf } from "../../pipeline/replay/idempotency-key.ts";
import type { JsonObject } from "../../wire/json.ts";
import type { BackgroundRun } from "./background-run.ts";
import { emptyResponse } from "./empty-response.ts";
import type { Resolved } from "./input.ts";
import { rowsOf } from "./kept-row.ts";
import type { CreateCall, ResponsesParts } from "./parts.ts";

/** Throws a Refusal where it cannot be begun; whatever fails later is told as the response's own failure. */
export async function beginInBackground(
  call: CreateCall,
  resolved: Resolved,
  parts: ResponsesParts,
  isStreamed: boolean,
): Promise<BackgroundRun> {
  const hasKey = idempotencyKeyOf(call.header) !== undefined;
  if (resolved.request.message().store === false) {
    throw invalidValue("background", "what is made in the background is kept; leave `store` out, or set it to true");
  }
  if (hasKey && isStreamed) {
    throw invalidValue(
      "stream",
      "a response in the background is repeated whole; leave it out, or the `Idempotency-Key`",
    );
  }
  const { complete, background, clock } = parts;
  // The model is asked in the foreground.
  const request = resolved.request.with({ background: undefined, stream: undefined });
  const run = await background.begin({
    call: { ...call, request } as unknown as Call,
    response: queuedJson(call, clock()),
    isStreamed,
    ask: (own) => complete("responses", "stream", own as unknown as CreateCall),
    keptAs: rowsOf(call, resolved, parts),
  });
  // Its repetition is told of the same response, and makes no other.
  if (hasKey) call.record.outcome ??= Outcome.ANSWERED;
  return run;
}

function queuedJson(call: CreateCall, now: number): JsonObject {
  return { ...emptyResponse(call, now), status: "queued", background: true };
}
