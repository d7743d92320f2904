/**
 * Requests that a client may repeat without having them done again: those with an `Idempotency-Key` header.
 *
 * The same account's same request under the same key, within a day, is told what the first one made. Another request
 * under it is refused, for one of the two is a mistake.
 */
import { hash } from "node:crypto";
import type { DescMessage } from "@bufbuild/protobuf";
import type { Call } from "../call.ts";
import { idempotencyConflict, invalidValue } from "../errors.ts";
import type { IdempotencyStore, Occasion } from "../storage/idempotency.ts";
import type { JsonValue } from "../wire/json.ts";
import { Wire } from "../wire/wire.ts";

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
  const key = header("idempotency-key");
  if (key === undefined) return undefined;
  if (!/^[\x20-\x7e]{1,255}$/.test(key)) {
    throw invalidValue("idempotency-key", "expected a header of 1 to 255 printable ASCII characters");
  }
  const scope = `${caller.accountId || caller.rights} ${method.name}`;
  return { scope, key, fingerprint: fingerprintOf(request) };
}

/** Reads the message, not the bytes: however it was written, and through whichever door, the same request is the same. */
function fingerprintOf<I extends DescMessage>(request: Wire<I>): string {
  const json = Wire.ofMessage(request.desc, request.message()).json();
  return hash("sha256", JSON.stringify(sorted(json)), "hex");
}

function sorted(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const keys = Object.keys(value).sort();
  return Object.fromEntries(keys.map((key) => [key, sorted(value[key] as JsonValue)]));
}
