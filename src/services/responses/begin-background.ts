/** Begins a background response: checks the request, and builds the call and the initial response. */
import { Outcome } from "../../../gen/modelgateway/v1/usage_pb.ts";
import type { AnswerHeaders, Call } from "../../call/call.ts";
import { invalidValue, wouldBeDropped } from "../../call/refusals.ts";
import { droppedHeaders } from "../../pipeline/attempt/dropped-headers.ts";
import { isStrict } from "../../pipeline/check/strict.ts";
import { idempotencyKeyOf } from "../../pipeline/replay/idempotency-key.ts";
import { isObject } from "../../wire/is-object.ts";
import type { JsonObject } from "../../wire/json.ts";
import type { BackgroundRun } from "./background-run.ts";
import { emptyResponse } from "./empty-response.ts";
import type { Resolved } from "./input.ts";
import { storedRowBuilder } from "./kept-row.ts";
import type { CreateCall, ResponsesParts } from "./parts.ts";

/** Begun is a background response that has begun, and headers of the answer that tells so. */
export interface Begun {
  readonly run: BackgroundRun;
  readonly headers: AnswerHeaders;
}

/** beginInBackground throws a Refusal if the run cannot begin. Later failures are the response's own. */
export async function beginInBackground(
  call: CreateCall,
  resolved: Resolved,
  parts: ResponsesParts,
  isStreamed: boolean,
): Promise<Begun> {
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
  const dropped = droppedOf(call.request.json());
  if (dropped.length > 0 && isStrict(call.header)) throw wouldBeDropped(dropped);
  const { complete, background, clock } = parts;
  // The upstream gets an ordinary request.
  const request = resolved.request.with({ background: undefined, background_options: undefined, stream: undefined });
  const run = await background.begin({
    call: { ...call, request } as unknown as Call,
    response: queuedJson(call, clock()),
    isStreamed,
    ask: (own) => complete("responses", "stream", own as unknown as CreateCall),
    keptAs: storedRowBuilder(call, resolved, parts),
  });
  // A replay returns this response instead of starting another.
  if (hasKey) call.record.outcome ??= Outcome.ANSWERED;
  return { run, headers: droppedHeaders(dropped) };
}

/** droppedOf names the options that ask for more than is done: each response is made at once, at the ordinary price, and none is put first. */
function droppedOf({ background_options: options }: JsonObject): readonly string[] {
  if (!isObject(options)) return [];
  const { completion_window: window, ...others } = options;
  const isAtOnce = window === undefined || window === null || window === "soonest";
  const further = Object.keys(others).filter((name) => others[name] !== null);
  const names = [...(isAtOnce ? [] : ["completion_window"]), ...further];
  return names.map((name) => `background_options.${name}`);
}

function queuedJson(call: CreateCall, now: number): JsonObject {
  return { ...emptyResponse(call, now), status: "queued", background: true };
}
