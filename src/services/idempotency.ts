/**
 * Requests that a client may repeat without having them done again: those with an `Idempotency-Key` header.
 *
 * The same account's same request under the same key, within a day, is told what the first one made, and by a header that
 * nothing was made now. Another request under it is refused, for one of the two is a mistake.
 */
import { hash } from "node:crypto";
import type { DescMessage } from "@bufbuild/protobuf";
import type { AnswerHeaders, Call } from "../call/call.ts";
import { idempotencyConflict } from "../call/refusals.ts";
import { idempotencyKeyOf } from "../pipeline/replay/idempotency-key.ts";
import type { IdempotencyStore, Occasion } from "../storage/answers/idempotency.ts";
import { canonicalText } from "../wire/canonical.ts";

/** What was made, now or before, and the headers of an answer that tell which. */
export interface Made {
  readonly id: string;
  readonly headers: AnswerHeaders;
}

/** Does the work, which returns the id of what it made, unless the call repeats another. Throws a Refusal. */
export function makeOnce<I extends DescMessage>(
  store: IdempotencyStore,
  call: Call<I>,
  now: number,
  make: () => string,
): Made {
  const occasion = occasionOf(call);
  if (!occasion) return { id: make(), headers: {} };
  const outcome = store.once(occasion, now, make);
  if (outcome.kind === "conflict") throw idempotencyConflict();
  return { id: outcome.resultId, headers: outcome.kind === "replayed" ? { "x-gateway-replayed": "true" } : {} };
}

function occasionOf<I extends DescMessage>({ header, method, caller, request }: Call<I>): Occasion | undefined {
  const key = idempotencyKeyOf(header);
  if (key === undefined) return undefined;
  const scope = `${caller.accountId || caller.rights} ${method.name}`;
  return { scope, key, fingerprint: hash("sha256", canonicalText(request.desc, request.message()), "hex") };
}
