/**
 * Calls of models that a client may repeat without having them made, and paid, again: those with an `Idempotency-Key`.
 *
 * The same account's same request under the same key, within a day, is told what the first was answered. Another request
 * under it is refused, for one of the two is a mistake. A call that failed, broke off or was left is no answer: its
 * repetition is made anew. The answer is written down before the last of it is handed over, right after it was charged.
 */
import { createHash, type Hash, hash } from "node:crypto";
import { Outcome } from "../../../gen/modelgateway/v1/usage_pb.ts";
import type { Answer, AnswerHeaders, Call, Frames, Handler } from "../../call/call.ts";
import { type Form, type Operation, operations } from "../../call/operations.ts";
import type { Ledger } from "../../ledger/contract.ts";
import { runInSlices } from "../../runtime/cooperative.ts";
import type { MaybePromise } from "../../runtime/maybe-promise.ts";
import type { Catalog } from "../../targets/catalog.ts";
import { canonicalText, writeCanonical } from "../../wire/canonical.ts";
import { authorizeModel } from "../admit/authorize.ts";
import { idempotencyKeyOf } from "./idempotency-key.ts";
import { createRecording, type Recording } from "./recorded-answer.ts";
import { type ClaimsOptions, createClaims, type Kept, type Turn } from "./replay-claims.ts";
import { mostBytes, openReplay, sealReplay } from "./replay-text.ts";

export interface ReplayOptions extends ClaimsOptions {
  readonly catalog: Catalog;
  /** Closing waits for what is begun here. */
  readonly ledger: Pick<Ledger, "begin">;
}

/** Wraps what answers a call of a model. */
export type Replays = (asked: Operation, form: Form, handler: Handler) => Handler;

/** What a repetition has in common with the call that it repeats. */
interface Same {
  readonly keyHash: string;
  readonly requestHash: string;
  /** What the answer is encrypted with: it follows from key and request, and is written down nowhere. */
  readonly secret: Buffer;
}

export function createReplays(options: ReplayOptions): Replays {
  const takeTurn = createClaims(options);
  const repeatable = async (key: string, asked: Operation, form: Form, handler: Handler, call: Call) => {
    const same = await sameOf(key, asked, form, call);
    const { keyHash, requestHash } = same;
    const asking = { accountId: call.caller.accountId, keyHash, requestHash, requestId: call.id };
    const turn = await takeTurn(asking, call.signal);
    return "answer" in turn
      ? replayed(turn, same, asked, form, call, options.catalog)
      : made(handler, call, makingOf(turn, same, call, options));
  };
  return (asked, form, handler) => (call) => {
    const key = idempotencyKeyOf(call.header);
    return key === undefined ? handler(call) : repeatable(key, asked, form, handler, call);
  };
}

function sameOf(key: string, asked: Operation, form: Form, { request }: Call): MaybePromise<Same> {
  const hashes = [createHash("sha256").update("replay request\n"), createHash("sha256").update("replay secret\n")];
  const take = (text: string) => {
    for (const each of hashes) each.update(text);
  };
  take(`${key}\n${asked} ${form}\n`);
  const told = (): Same => ({
    keyHash: hash("sha256", `replay key\n${asked}\n${key}`, "hex"),
    requestHash: (hashes[0] as Hash).digest("hex"),
    secret: (hashes[1] as Hash).digest(),
  });
  // The form is said by the RPC; the request may say it once more.
  const without = ["stream"];
  if (request.isLong) return runInSlices(writeCanonical(request.desc, request.message(), without, take)).then(told);
  take(canonicalText(request.desc, request.message(), without));
  return told();
}

/** A call that is made under a key. */
interface Making {
  readonly recording: Recording;
  /** Whether it was answered in full, and charged. */
  isAnswered(): boolean;
  /** Writes down what was recorded. It never throws: what cannot be kept is told all the same, for it has been paid. */
  keep(headers: AnswerHeaders | undefined): Promise<void>;
  /** Says that it is over, once or more. */
  end(): void;
}

function makingOf(turn: Turn, same: Same, { record }: Call, { ledger, onError }: ReplayOptions): Making {
  const recording = createRecording(mostBytes);
  let isDone: (() => void) | undefined = ledger.begin();
  return {
    recording,
    isAnswered: () => record.outcome === Outcome.ANSWERED,
    async keep(headers) {
      try {
        const packed = recording.packed();
        const told = packed && { model: record.model ?? "", headers, packed };
        await turn.keep(told && (await sealReplay(told, same.secret, same.keyHash)));
      } catch (error) {
        onError(error);
      }
    },
    end() {
      turn.end();
      isDone?.();
      isDone = undefined;
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
  // Frames that nobody began to read have no end of their own.
  const left = () => isRead || making.end();
  if (signal.aborted) left();
  else signal.addEventListener("abort", left, { once: true });
  return { ...answer, frames: recorded(answer, making, () => (isRead = true)) };
}

/** The batch that holds the end comes with the charge, and what follows at once: that is handed over when it is kept. */
async function* recorded({ frames, headers }: Streamed, making: Making, onRead: () => void): Frames {
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
        // Who waits for it need not wait for a slow reader.
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

/** Tells what was kept. It costs nothing, and whether the key may use the model is asked again. */
async function replayed(
  { requestId, answer }: Kept,
  { secret, keyHash }: Same,
  asked: Operation,
  form: Form,
  { caller, record, request }: Call,
  catalog: Catalog,
): Promise<Answer> {
  const { kind } = operations[asked];
  const told = await openReplay(answer, secret, keyHash, operations[asked][form], form);
  const { model, headers } = told;
  const { model: name } = request.outline();
  authorizeModel(caller, catalog.find(model, kind), typeof name === "string" ? name : undefined);
  Object.assign(record, { operation: asked, form, model, replayed: "idempotency", outcome: Outcome.ANSWERED, cost: 0 });
  return { ...told.answer, headers: { ...headers, "x-gateway-original-request-id": requestId } };
}
