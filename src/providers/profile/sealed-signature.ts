/**
 * How signatures of texts that Gemini made are known again: callers of Messages have them as redacted thinking, which no other
 * vendor takes for its own. `families/call-signature.ts` writes and reads them.
 */

export const sealMark = "sig-";

const sealed = /^sig-[bt][0-9a-f]{8}-[A-Za-z0-9_-]+$/;

export function isSealedSignature(text: unknown): boolean {
  return typeof text === "string" && sealed.test(text);
}
