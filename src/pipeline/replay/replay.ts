/**
 * Replays: a model call with an `Idempotency-Key` may be repeated without being made, and charged, again.
 *
 * The same request of the same account under the same key gets the first answer again, within a day. Another request under that key
 * is refused, because one of the two is a mistake. A call that failed, broke off, or whose caller disconnected is not stored: its
 * repetition is made anew. The answer is stored before the last of it is sent, right after it was captured.
 */
import { createHash, type Hash, hash } from "node:crypto";
import { Outcome } from "../../../gen/modelgateway/v1/usage_pb.ts";
import type { Answer, AnswerHeaders, AnswerRoom, Call, Frames, Handler } from "../../call/call.ts";
import { type Form, type Operation, operations } from "../../call/operations.ts";
import type { Ledger } from "../../ledger/contract.ts";
import { runInSlices } from "../../runtime/cooperative.ts";
import type { MaybePromise } from "../../runtime/maybe-promise.ts";
import type { Catalog } from "../../targets/catalog.ts";
import { canonicalText, writeCanonical } from "../../wire/canonical.ts";
import { authorizeModel } from "../admit/authorize.ts";
import { callerWaiting } from "../check/deadline.ts";
import { idempotencyKeyOf } from "./idempotency-key.ts";
import { createRecording, type Recording, type Room } from "./recorded-answer.ts";
import { type ClaimsOptions, createClaims, type HeldClaim, type StoredAnswer } from "./replay-claims.ts";
import { maxReplayBytes, openReplay, sealReplay } from "./replay-text.ts";

export interface ReplayOptions extends ClaimsOptions {
  readonly catalog: Catalog;
  /** Closing the ledger waits for calls that have begun. */
  readonly ledger: Pick<Ledger, "begin">;
}

/** Replays wraps the handler of a model call. */
export type Replays = (asked: Operation, form: Form, handler: Handler) => Handler;

/** Identity is what a call and its repetition have in common. */
interface Identity {
  readonly keyHash: string;
  readonly requestHash: string;
  /** The secret that encrypts the answer. It is derived from key and request, and stored nowhere. */
  readonly secret: Buffer;
}

/** Repeatable is a call with an `Idempotency-Key`, and what it asks for. */
interface Repeatable {
  readonly key: string;
  readonly asked: Operation;
  readonly form: Form;
  readonly call: Call;
}

export function createReplays(options: ReplayOptions): Replays {
  const claimKey = createClaims(options);
  const answer = async (repeatable: Repeatable, handler: Handler) => {
    const { call } = repeatable;
    const identity = await identityOf(repeatable);
    const { keyHash, requestHash } = identity;
    const asking = { accountId: call.caller.accountId, keyHash, requestHash, requestId: call.id };
    const claimed = await claimKey(asking, call.signal);
    return "answer" in claimed
      ? replayed(claimed, identity, repeatable, options.catalog)
      : made(handler, call, makingOf(claimed, identity, call, options));
  };
  return (asked, form, handler) => (call) => {
    const key = idempotencyKeyOf(call.header);
    return key === undefined ? handler(call) : answer({ key, asked, form, call }, handler);
  };
}

function identityOf({ key, asked, form, call: { request } }: Repeatable): MaybePromise<Identity> {
  const hashes = [createHash("sha256").update("replay request\n"), createHash("sha256").update("replay secret\n")];
  const take = (text: string) => {
    for (const each of hashes) each.update(text);
  };
  take(`${key}\n${asked} ${form}\n`);
  const identity = (): Identity => ({
    keyHash: hash("sha256", `replay key\n${asked}\n${key}`, "hex"),
    requestHash: (hashes[0] as Hash).digest("hex"),
    secret: (hashes[1] as Hash).digest(),
  });
  // The RPC determines the form of the answer; `stream` only repeats it.
  const without = ["stream"];
  if (request.isLong) return runInSlices(writeCanonical(request.desc, request.message(), without, take)).then(identity);
  take(canonicalText(request.desc, request.message(), without));
  return identity();
}

/** A call that is made under a claimed key. */
interface Making {
  readonly recording: Recording;
  /** Reports whether the call was answered completely, and captured. */
  isAnswered(): boolean;
  /** Stores what was recorded. It never rejects: an answer that cannot be stored is sent all the same, because it is paid. */
  keep(headers: AnswerHeaders | undefined): Promise<void>;
  /** Ends the claim. Later calls have no effect. */
  end(): void;
}

function makingOf(
  claim: HeldClaim,
  identity: Identity,
  { record, body }: Call,
  { ledger, onError }: ReplayOptions,
): Making {
  const recording = createRecording(maxReplayBytes, roomOf(body.openAnswer()));
  let isDone: (() => void) | undefined = ledger.begin();
  return {
    recording,
    isAnswered: () => record.outcome === Outcome.ANSWERED,
    async keep(headers) {
      const recorded = recording.answer();
      const replay = recorded && { model: record.model ?? "", headers, recorded };
      const sealed = replay && sealReplay(replay, identity.secret, identity.keyHash);
      // One that cannot be sealed stands as one that is too long: its call is charged all the same.
      await claim.keep(await sealed?.catch((error: unknown) => void onError(error)));
    },
    end() {
      claim.end();
      isDone?.();
      isDone = undefined;
    },
  };
}

/** roomOf returns the memory of a recording: without any the answer is sent all the same, and not kept. */
function roomOf(room: AnswerRoom): Room {
  let bytes = 0;
  return {
    take(more) {
      if (!room.tryHold(bytes + more)) return false;
      bytes += more;
      return true;
    },
    give(back) {
      bytes -= back;
      room.tryHold(bytes);
    },
  };
}

async function made(handler: Handler, call: Call, making: Making): Promise<Answer> {
  let answer: Answer;
  try {
    answer = await handler(call);
    if (answer.kind === "whole" && making.isAnswered()) {
      making.recording.add([answer.body]);
      await making.keep(answer.headers);
    }
  } catch (error) {
    making.end();
    throw error;
  }
  if (answer.kind === "whole") {
    making.end();
    return answer;
  }
  const { signal } = call;
  let isRead = false;
  // Frames that are never read have no end of their own.
  const aborted = () => isRead || making.end();
  if (signal.aborted) aborted();
  else signal.addEventListener("abort", aborted, { once: true });
  return { ...answer, frames: recordFrames(answer, making, () => (isRead = true)) };
}

/** recordFrames records a stream. Its last batches, which arrive once the call is captured, are held back until the answer is stored. */
async function* recordFrames({ frames, headers }: Streamed, making: Making, onRead: () => void): Frames {
  onRead();
  const last: Parameters<Recording["add"]>[0][] = [];
  let failure: { readonly error: unknown } | undefined;
  try {
    try {
      for await (const batch of frames) {
        making.recording.add(batch);
        if (making.isAnswered()) last.push(batch);
        else yield batch;
      }
      if (making.isAnswered()) {
        await making.keep(headers);
        // A repetition that waits for this call need not wait for a slow reader.
        making.end();
      }
    } catch (error) {
      failure = { error };
    }
    yield* last;
    if (failure) throw failure.error;
  } finally {
    making.end();
  }
}
type Streamed = Answer & { readonly kind: "stream" };

/** replayed answers with the stored answer, at no cost. The key's permission for the model is checked again. */
async function replayed(
  { requestId, answer }: StoredAnswer,
  { secret, keyHash }: Identity,
  { asked, form, call }: Repeatable,
  catalog: Catalog,
): Promise<Answer> {
  const { caller, record, request, body } = call;
  const { kind } = operations[asked];
  const opening = { secret, bound: keyHash, room: body.openAnswer(callerWaiting(call)) };
  const replay = await openReplay(answer, opening, operations[asked][form], form);
  const { model, headers } = replay;
  const { model: name } = request.outline();
  authorizeModel(caller, catalog.find(model, kind), typeof name === "string" ? name : undefined);
  Object.assign(record, { operation: asked, form, model, replayed: "idempotency", outcome: Outcome.ANSWERED, cost: 0 });
  return { ...replay.answer, headers: { ...headers, "x-gateway-original-request-id": requestId } };
}
