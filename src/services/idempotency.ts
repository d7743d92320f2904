/**
 * Requests that a client may repeat without having them done again: those with an `Idempotency-Key` header.
 *
 * The same account's same request under the same key, within a day, is told what the first one made. Another request
 * under it is refused, for one of the two is a mistake.
 */
import { hash } from "node:crypto";
import type { DescMessage } from "@bufbuild/protobuf";
import type { Call } from "../call.ts";
import { idempotencyConflict } from "../errors.ts";
import { idempotencyKeyOf } from "../pipeline/idempotency-key.ts";
import type { IdempotencyStore, Occasion } from "../storage/idempotency.ts";
import { canonicalText } from "../wire/canonical.ts";

/** Does the work unless the call repeats another. Returns the id of what was made, now or then. Throws a Refusal. */
export function makeOnce<I extends DescMessage>(
  store: IdempotencyStore,
  call: Call<I>,
  now: number,
  make: () => string,
): string {
  const occasion = occasionOf(call);
  if (!occasion) return make();
  const outcome = store.once(occasion, now, make);
  if (outcome.kind === "conflict") throw idempotencyConflict();
  return outcome.resultId;
}

function occasionOf<I extends DescMessage>({ header, method, caller, request }: Call<I>): Occasion | undefined {
  const key = idempotencyKeyOf(header);
  if (key === undefined) return undefined;
  const scope = `${caller.accountId || caller.rights} ${method.name}`;
  return { scope, key, fingerprint: hash("sha256", canonicalText(request.desc, request.message()), "hex") };
}
