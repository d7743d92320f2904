/** The header `Idempotency-Key`, by which a client may repeat a request without having it executed again. */
import type { Call } from "../../call/call.ts";
import { invalidValue } from "../../call/refusals.ts";

/** idempotencyKeyOf returns undefined where there is none. Throws a Refusal. */
export function idempotencyKeyOf(header: Call["header"]): string | undefined {
  const key = header("idempotency-key");
  if (key === undefined || /^[\x20-\x7e]{1,255}$/.test(key)) return key;
  throw invalidValue("idempotency-key", "expected 1 to 255 printable ASCII characters");
}
