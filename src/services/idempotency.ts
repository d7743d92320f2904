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
import type { IdempotencyStore, Occasion } from "../storage/answers/idempotency.ts";
import { canonicalText } from "../wire/canonical.ts";

/** OnceResult is the id of what was created, now or before, and the answer headers that tell which. */
export interface OnceResult {
  readonly id: string;
  readonly headers: AnswerHeaders;
}

/**
 * createOnce calls `make`, which returns the id of what it created, unless the call repeats an earlier one. Throws a
 * Refusal.
 */
export function createOnce<I extends DescMessage>(
  store: IdempotencyStore,
  call: Call<I>,
  now: number,
  make: () => string,
): OnceResult {
  const occasion = idempotencyScopeOf(call);
  if (!occasion) return { id: make(), headers: {} };
  const outcome = store.once(occasion, now, make);
  if (outcome.kind === "conflict") throw idempotencyConflict();
  return { id: outcome.resultId, headers: outcome.kind === "replayed" ? { "x-gateway-replayed": "true" } : {} };
}

function idempotencyScopeOf<I extends DescMessage>({ header, method, caller, request }: Call<I>): Occasion | undefined {
  const key = idempotencyKeyOf(header);
  if (key === undefined) return undefined;
  const scope = `${caller.accountId || caller.rights} ${method.name}`;
  return { scope, key, fingerprint: hash("sha256", canonicalText(request.desc, request.message()), "hex") };
}
