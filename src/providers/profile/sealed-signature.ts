/**
 * Recognises sealed signatures of Gemini's texts, and sealed reasoning of OpenRouter's models. Callers of Messages hold
 * them as redacted thinking, which no other vendor accepts. `families/call-signature.ts` writes and reads them.
 */
import { isObject, type JsonValue } from "../../wire/json.ts";

export const sealMark = "sig-";

const sealed = /^sig-[btd][0-9a-f]{8}-[A-Za-z0-9_-]+$/;

export function isSealedSignature(text: unknown): boolean {
  return typeof text === "string" && sealed.test(text);
}

/** isMadeCitation reports whether a translation made a citation of a text: no vendor has sealed its place, and Claude refuses such a one. */
export function isMadeCitation(citation: JsonValue): boolean {
  return isObject(citation) && citation.type === "web_search_result_location" && citation.encrypted_index === "";
}
