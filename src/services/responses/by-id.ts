/**
 * Finds, follows, cancels and deletes a response by its id: a stored one, or a background response that is running or
 * has failed.
 */
import { ModelResponseSchema, type ResponseStreamEventSchema } from "../../../gen/modelgateway/v1/responses_pb.ts";
import type { Answer, Call, Caller } from "../../call/call.ts";
import { conflict, invalidValue, responseEventsGone, responseNotFound } from "../../call/refusals.ts";
import { callerWaiting } from "../../pipeline/check/deadline.ts";
import type { Signal } from "../../runtime/caller-abort.ts";
import type { ResponseStore } from "../../storage/answers/responses.ts";
import { Wire } from "../../wire/wire.ts";
import type { Background } from "./background.ts";
import { BackgroundRun } from "./background-run.ts";
import { responseAnswer } from "./response-ends.ts";

export interface ByIdParts {
  readonly store: ResponseStore;
  readonly background: Background;
  /** clock returns milliseconds since 1970. */
  readonly clock: () => number;
}

type ResponseAnswer = Answer<typeof ModelResponseSchema>;

/** Asked is who asks for a response, the memory that the answer is counted against, and what ends the wait for it. */
type Asked = Pick<Call, "caller" | "body" | "header" | "signal">;

/**
 * findResponse returns a response's current state. Throws a Refusal if the account has none with the id, or there is no memory for it.
 */
export async function findResponse(
  asked: Asked,
  id: string,
  { store, background, clock }: ByIdParts,
): Promise<ResponseAnswer> {
  const { accountId } = asked.caller;
  const state = await background.stateOf(accountId, id);
  if (state) return responseAnswer(state);
  const [kept] = await store.find(accountId, [id], clock());
  if (!kept) throw responseNotFound(id);
  await asked.body.openAnswer(callerWaiting(asked)).hold(kept.response.length);
  return { kind: "whole", body: Wire.ofBytes(ModelResponseSchema, Buffer.from(kept.response)) };
}

/** followResponse streams the events from a number on. Throws a Refusal if this process has no events of it. */
export function followResponse(
  run: BackgroundRun | ResponseAnswer,
  number: number,
  signal: Signal,
  id = "",
): Answer<typeof ResponseStreamEventSchema> {
  if (!(run instanceof BackgroundRun)) {
    throw responseEventsGone(
      id,
      "it was not made in the background by this process, or its events are not kept any more",
    );
  }
  if (!run.log) throw responseEventsGone(run.id, "it was asked for without `stream`");
  return { kind: "stream", frames: run.log.from(number, signal) };
}

/** cancelResponse cancels a background response and returns its state. Throws a Refusal. */
export async function cancelResponse(asked: Asked, id: string, parts: ByIdParts): Promise<ResponseAnswer> {
  const { background } = parts;
  const { caller } = asked;
  const { status } = (await background.stateOf(caller.accountId, id)) ?? {};
  if (status === "queued" || status === "in_progress") await background.cancel(caller.accountId, id);
  const answer = await findResponse(asked, id, parts);
  if (answer.kind === "whole" && answer.body.json().background !== true) {
    throw invalidValue("id", "only a response that is made in the background can be cancelled");
  }
  return answer;
}

/** deleteResponse deletes a response. Throws a Refusal if the account has none with the id, or it still runs. */
export async function deleteResponse(
  caller: Caller,
  id: string,
  { store, background, clock }: ByIdParts,
): Promise<void> {
  const { accountId } = caller;
  if (await store.delete(accountId, id, clock())) return;
  if (await background.delete(accountId, id)) return;
  if (await background.stateOf(accountId, id)) throw conflict("RESPONSE_UNDER_WAY", { id });
  // It may have become complete between the two, and is kept now.
  if (await store.delete(accountId, id, clock())) return;
  throw responseNotFound(id);
}
