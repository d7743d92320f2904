/** The header `x-gateway-strict`: whether a call is refused rather than answered with a part of its request dropped. */
import type { Call } from "../../call/call.ts";
import { invalidValue } from "../../call/refusals.ts";

/**
 * isStrict reports whether the caller wants nothing dropped. Throws a Refusal for a value that is neither true nor false: ignoring a
 * misspelt one would drop what the caller wants to keep.
 */
export function isStrict(header: Call["header"]): boolean {
  const text = header("x-gateway-strict");
  if (text === undefined) return false;
  const word = text.trim().toLowerCase();
  if (word !== "true" && word !== "false") throw invalidValue("x-gateway-strict", "expected true or false");
  return word === "true";
}
