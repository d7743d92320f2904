/**
 * Signatures of thoughts that stand beside calls and texts of a chat, as Gemini's servers have them. Each belongs to the model, the key and
 * the server that made it: another refuses the whole conversation for it, and some for none.
 *
 * Source: https://ai.google.dev/gemini-api/docs/thought-signatures
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject, listOrEmpty } from "../../wire/json.ts";

/** skipsValidation is Google's word in place of a signature that there is none of. */
const skipsValidation = { extra_content: { google: { thought_signature: "skip_thought_signature_validator" } } };

/** holders are the members that have signatures, by their vendors: Google, LiteLLM, OpenRouter. */
const holders = ["extra_content", "provider_specific_fields", "reasoning_details", "thinking_blocks"] as const;

/** hasCallsOrSignatures reports a turn in which a server of Gemini's models may miss a signature, or find a foreign one. */
export function hasCallsOrSignatures(turn: JsonValue): boolean {
  if (!isObject(turn) || turn.role !== "assistant") return false;
  return listOrEmpty(turn.tool_calls).length > 0 || holders.some((key) => Object.hasOwn(turn, key));
}

/** withoutSignatures returns a turn whose calls are signed by Google's word alone. Adds the paths of what is left out to `dropped`. */
export function withoutSignatures(turn: JsonValue, at: string, dropped: string[]): JsonValue {
  if (!isObject(turn) || !hasCallsOrSignatures(turn)) return turn;
  const unsigned = without(turn, at, dropped);
  const calls = listOrEmpty(turn.tool_calls);
  if (calls.length === 0) return unsigned;
  const signed = calls.map((call, i): JsonValue => {
    if (!isObject(call)) return call;
    const path = `${at}.tool_calls[${i}]`;
    const { function: called, ...rest } = without(call, path, dropped);
    const own = isObject(called) ? { function: without(called, `${path}.function`, dropped) } : {};
    // Calls of one turn share a signature.
    return { ...rest, ...own, ...(i === 0 ? skipsValidation : {}) };
  });
  return { ...unsigned, tool_calls: signed };
}

function without(object: JsonObject, at: string, dropped: string[]): JsonObject {
  const held = holders.filter((key) => Object.hasOwn(object, key));
  for (const key of held) if (object[key] !== null) dropped.push(`${at}.${key}`);
  const kept = Object.entries(object).filter(([key]) => !held.some((one) => one === key));
  return Object.fromEntries(kept);
}
