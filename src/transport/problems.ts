/**
 * Refusals on the public wire, in the shape that the caller's family knows.
 *
 * OpenAI: `{"error":{"message","type","param","code"}}`, all four keys always there. An upstream's own error body
 * of the same family is passed on as it came.
 */
import { Reason, type Refusal } from "../errors.ts";

/** What the OpenAI API calls each reason: its type and code. */
const openaiWords: Readonly<Partial<Record<Reason, readonly [type: string, code: string | null]>>> = {
  [Reason.MALFORMED_BODY]: ["invalid_request_error", null],
  [Reason.INVALID_TYPE]: ["invalid_request_error", "invalid_type"],
  [Reason.INVALID_VALUE]: ["invalid_request_error", "invalid_value"],
  [Reason.MISSING_FIELD]: ["invalid_request_error", "missing_required_parameter"],
  [Reason.UNSUPPORTED_MEDIA_TYPE]: ["invalid_request_error", "unsupported_media_type"],
  [Reason.REQUEST_TOO_LARGE]: ["invalid_request_error", "request_too_large"],
  [Reason.REQUEST_TIMEOUT]: ["invalid_request_error", "timeout"],
  [Reason.INVALID_API_KEY]: ["invalid_request_error", "invalid_api_key"],
  [Reason.MODEL_NOT_FOUND]: ["invalid_request_error", "model_not_found"],
  [Reason.UNKNOWN_PATH]: ["invalid_request_error", "unknown_url"],
  [Reason.METHOD_NOT_ALLOWED]: ["invalid_request_error", "method_not_supported"],
  [Reason.UPSTREAM_REFUSED]: ["server_error", "upstream_error"],
  [Reason.UPSTREAM_FAILED]: ["server_error", "upstream_error"],
  [Reason.UPSTREAM_TIMEOUT]: ["server_error", "timeout"],
  [Reason.CANCELLED]: ["invalid_request_error", "cancelled"],
};
const openaiInternal = ["server_error", null] as const;

/** Writes the error body. */
export function problemBody(refusal: Refusal): Buffer {
  if (refusal.upstreamBody) return refusal.upstreamBody;
  const [type, code] = openaiWords[refusal.reason] ?? openaiInternal;
  return errorJson(refusal, type, code);
}

/** Writes the payload of the frame that ends a broken stream. Its code is never null: clients read the status from it. */
export function problemFrame(refusal: Refusal): Buffer {
  if (refusal.upstreamBody) return refusal.upstreamBody;
  const [type, code] = openaiWords[refusal.reason] ?? openaiInternal;
  return errorJson(refusal, type, code === null || refusal.status >= 500 ? String(refusal.status) : code);
}

function errorJson(refusal: Refusal, type: string, code: string | null): Buffer {
  const error = { message: refusal.message, type, param: refusal.param ?? null, code };
  return Buffer.from(JSON.stringify({ error }));
}
