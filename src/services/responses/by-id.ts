/** What is done with a response by its id: one that is kept, or one that is made in the background, or was and came to nothing. */
import { ModelResponseSchema, type ResponseStreamEventSchema } from "../../../gen/modelgateway/v1/responses_pb.ts";
import type { Answer, Caller } from "../../call/call.ts";
import { conflict, invalidValue, responseEventsGone, responseNotFound } from "../../call/refusals.ts";
import type { Signal } from "../../runtime/caller-abort.ts";
import type { ResponseStore } from "../../storage/answers/responses.ts";
import { Wire } from "../../wire/wire.ts";
import type { Background } from "./background.ts";
import { BackgroundRun } from "./background-run.ts";
import { toldResponse } from "./response-ends.ts";

export interface ByIdParts {
  readonly store: ResponseStore;
  readonly background: Background;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
}

type Told = Answer<typeof ModelResponseSchema>;

/** Tells how one stands. Throws a Refusal where the account has none such. */
export async function found({ accountId }: Caller, id: string, { store, background, clock }: ByIdParts): Promise<Told> {
  const standing = background.standing(accountId, id);
  if (standing) return toldResponse(standing);
  const [kept] = await store.find(accountId, [id], clock());
  if (!kept) throw responseNotFound(id);
  return { kind: "whole", body: Wire.ofBytes(ModelResponseSchema, Buffer.from(kept.response)) };
}

/** Tells its events from this number on. Throws a Refusal for one of which there are none here. */
export function followed(
  run: BackgroundRun | Told,
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

/** Ends one that is made in the background, and tells how it stands then. Throws a Refusal. */
export async function cancelled(caller: Caller, id: string, parts: ByIdParts): Promise<Told> {
  const { background } = parts;
  const { status } = background.standing(caller.accountId, id) ?? {};
  if (status === "queued" || status === "in_progress") await background.cancel(caller.accountId, id);
  const told = await found(caller, id, parts);
  if (told.kind === "whole" && told.body.json().background !== true) {
    throw invalidValue("id", "only a response that is made in the background can be cancelled");
  }
  return told;
}

/** Forgets one. Throws a Refusal where the account has none such, or it is still made. */
export async function deleted(caller: Caller, id: string, { store, background, clock }: ByIdParts): Promise<void> {
  const { accountId } = caller;
  if (await store.delete(accountId, id, clock())) return;
  if (await background.delete(accountId, id)) return;
  if (background.standing(accountId, id)) throw conflict(`The response '${id}' is still being made. Cancel it first.`);
  throw responseNotFound(id);
}
