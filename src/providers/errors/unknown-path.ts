/**
 * Recognises a server without the operation that it was asked: a vendor's profile may stand for another server. No model was called, so
 * nothing is charged.
 */
import { readErrorBody } from "./error-fields.ts";
import { meaningOf } from "./error-meaning.ts";
import type { UpstreamError } from "./upstream-error.ts";

/** RFC 9110, 15.5.5, 15.5.6 and 15.6.2. */
const statuses: ReadonlySet<number | undefined> = new Set([404, 405, 501]);

/** isOfUnknownPath reports whether an error means that nothing is served at this path. An error that names the model is about the model. */
export function isOfUnknownPath({ status, body, model }: UpstreamError): boolean {
  if (!statuses.has(status)) return false;
  const words = readErrorBody(body);
  if (meaningOf(words, status as number) === "model") return false;
  return !model || !(words.message ?? "").includes(model);
}
