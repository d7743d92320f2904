/**
 * Idempotent creation by the `Idempotency-Key` header.
 *
 * The same request of the same account with the same key within a day returns what the first one created, with the
 * header `x-gateway-replayed`. Another request with that key is refused, since one of the two must be a mistake.
 */
import { hash } from "node:crypto";
import type { DescMessage } from "@bufbuild/protobuf";
import type { AnswerHeaders, Call } from "../call/call.ts";
import { idempotencyConflict } from "../call/refusals.ts";
import { idempotencyKeyOf } from "../pipeline/replay/idempotency-key.ts";
import type { Occasion } from "../storage/answers/idempotency.ts";
import type { Stores, Transact } from "../storage/storage.ts";
import { canonicalText } from "../wire/canonical.ts";

/** Repeatable is what tells a repetition of a call: who asks for what, and its headers. */
export type Repeatable<I extends DescMessage> = Pick<Call<I>, "header" | "method" | "request"> & {
  readonly caller: Pick<Call["caller"], "accountId" | "rights">;
};

/** OnceResult is what was created, and the answer headers that tell whether it was now or before. */
export interface OnceResult<T> {
  readonly id: string;
  /** made is what `make` returned; undefined if it was created before. */
  readonly made: T | undefined;
  readonly headers: AnswerHeaders;
}

/**
 * createOnce calls `make` in a transaction, with its stores, unless the call repeats an earlier one. Like all work in a transaction,
 * `make` may run twice. Whatever may be refused at one time and not at another is looked at in `make`: a repetition succeeds also where the
 * same request would be refused by now. Throws a Refusal.
 */
export function createOnce<I extends DescMessage, T extends { readonly id: string }>(
  transact: Transact,
  call: Repeatable<I>,
  now: number,
  make: (stores: Stores) => Promise<T>,
): Promise<OnceResult<T>> {
  const occasion = idempotencyScopeOf(call);
  return transact(async (stores) => {
    let made: T | undefined;
    const create = async () => {
      made = await make(stores);
      return made.id;
    };
    if (!occasion) return { id: await create(), made, headers: {} };
    const outcome = await stores.idempotency.once(occasion, now, create);
    if (outcome.kind === "conflict") throw idempotencyConflict();
    const headers: AnswerHeaders = outcome.kind === "replayed" ? { "x-gateway-replayed": "true" } : {};
    return { id: outcome.resultId, made, headers };
  });
}

function idempotencyScopeOf<I extends DescMessage>(call: Repeatable<I>): Occasion | undefined {
  const { header, method, caller, request } = call;
  const key = idempotencyKeyOf(header);
  if (key === undefined) return undefined;
  const scope = `${caller.accountId || caller.rights} ${method.name}`;
  return { scope, key, fingerprint: hash("sha256", canonicalText(request.desc, request.message()), "hex") };
}
