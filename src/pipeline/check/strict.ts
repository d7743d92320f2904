/** The header `x-gateway-strict`: whether a caller would rather be refused than have anything left out. */
import type { Call } from "../../call/call.ts";
import { invalidValue } from "../../call/refusals.ts";

/** Throws a Refusal: who misspells it would have left out what it sent it for. */
export function isStrict(header: Call["header"]): boolean {
  const text = header("x-gateway-strict");
  if (text === undefined) return false;
  const word = text.trim().toLowerCase();
  if (word !== "true" && word !== "false") throw invalidValue("x-gateway-strict", "expected true or false");
  return word === "true";
}
