/**
 * Refusals on the public wire, in the form of the caller's family.
 *
 * OpenAI: `{"error":{"message","type","param","code"}}`, always with all four keys. Anthropic:
 * `{"type":"error","error":{"type","message"},"request_id"}`. Key management: its envelope. An upstream's own error body of the
 * same family is passed on unchanged.
 */
import { Family } from "../../../gen/modelgateway/v1/access_pb.ts";
import { Reason, type Refusal } from "../../call/refusals.ts";
import { parseJsonText } from "../../wire/scan/parse-json-text.ts";
import { envelopedRefusal } from "./envelope.ts";

export interface RefusalAnswer {
  readonly status: number;
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

/** refusalAnswer returns the answer that a refusal is. */
export function refusalAnswer(family: Family, refusal: Refusal, id: string): RefusalAnswer {
  // Anthropic has a status of its own for an overloaded service.
  const status = family === Family.ANTHROPIC && refusal.status === 503 ? 529 : refusal.status;
  const { headers } = refusal;
  return { status, headers, body: upstreamBody(family, refusal) ?? bodyOf(family, refusal, id) };
}

function bodyOf(family: Family, refusal: Refusal, id: string): Buffer {
  if (family === Family.ADMIN) return envelopedRefusal(refusal);
  return family === Family.ANTHROPIC ? anthropicBody(refusal, id) : openaiBody(refusal, codeOf(refusal));
}

/** refusalFrame returns the payload of the frame that ends a broken stream, after `sent` messages. */
export function refusalFrame(family: Family, refusal: Refusal, id: string, sent: number): Buffer {
  if (family === Family.RESPONSES) return responsesEvent(refusal, sent);
  const body = upstreamBody(family, refusal);
  if (body) return body;
  return family === Family.OPENAI ? openaiBody(refusal, streamedCode(refusal)) : bodyOf(family, refusal, id);
}

/** streamedCode is never null: clients read the status from it. */
function streamedCode(refusal: Refusal): string {
  const code = codeOf(refusal);
  return code === null || refusal.status >= 500 ? String(refusal.status) : code;
}

/** refusalMessage returns a refusal as a message on a WebSocket: the error of its answer, with its status and headers. */
export function refusalMessage(refusal: Refusal, id: string): Buffer {
  const { status, headers, body } = refusalAnswer(Family.RESPONSES, refusal, id);
  const { error = errorOf(refusal) } = readObject(body);
  return Buffer.from(JSON.stringify({ type: "error", status, error, headers: { ...headers, "x-request-id": id } }));
}

/** readObject reads an error body. An upstream's own may have any form. */
function readObject(body: Buffer): { readonly error?: unknown } {
  try {
    return (parseJsonText(body.toString()) as object | null) ?? {};
  } catch {
    return {};
  }
}

/** upstreamBody returns the upstream's own error body, if it is of the caller's family. */
function upstreamBody(family: Family, { upstream }: Refusal): Buffer | undefined {
  const wireFamily = family === Family.RESPONSES ? Family.OPENAI : family;
  return upstream?.family === wireFamily ? upstream.body : undefined;
}

/**
 * responsesEvent returns an error as an event of a stream of responses, numbered like the others. It says the error twice: flat, as OpenAI's
 * reference has it, and in `error`, as its server does. The AI SDK 5 takes a flat one for an event that it does not know.
 */
function responsesEvent(refusal: Refusal, sent: number): Buffer {
  const code = codeOf(refusal) ?? (refusal.status >= 500 ? "server_error" : "invalid_request_error");
  const flat = { type: "error", code, message: refusal.message, param: refusal.param ?? null, sequence_number: sent };
  return Buffer.from(JSON.stringify({ ...flat, error: errorOf(refusal, streamedCode(refusal)) }));
}

function openaiBody(refusal: Refusal, code: string | null): Buffer {
  return Buffer.from(JSON.stringify({ error: errorOf(refusal, code) }));
}

function errorOf(refusal: Refusal, code = codeOf(refusal)): object {
  return { message: refusal.message, type: openaiType(refusal), param: refusal.param ?? null, code };
}

function openaiType({ reason, status }: Refusal): string {
  if (reason === Reason.INSUFFICIENT_CREDIT || reason === Reason.BUDGET_EXCEEDED) return "insufficient_quota";
  if (reason === Reason.RATE_LIMITED || (reason === Reason.UPSTREAM_REFUSED && status === 429)) return "requests";
  return status >= 500 ? "server_error" : "invalid_request_error";
}

/** The OpenAI API's codes by reason. */
const openaiCodes: Readonly<Partial<Record<Reason, string>>> = {
  [Reason.INVALID_TYPE]: "invalid_type",
  [Reason.INVALID_VALUE]: "invalid_value",
  [Reason.MISSING_FIELD]: "missing_required_parameter",
  [Reason.UNSUPPORTED_MEDIA_TYPE]: "unsupported_media_type",
  [Reason.REQUEST_TOO_LARGE]: "request_too_large",
  [Reason.REQUEST_TIMEOUT]: "timeout",
  [Reason.INVALID_API_KEY]: "invalid_api_key",
  [Reason.MODEL_NOT_FOUND]: "model_not_found",
  [Reason.UNKNOWN_PATH]: "unknown_url",
  [Reason.METHOD_NOT_ALLOWED]: "method_not_supported",
  [Reason.UPSTREAM_FAILED]: "upstream_error",
  [Reason.UPSTREAM_TIMEOUT]: "timeout",
  [Reason.CANCELLED]: "cancelled",
  [Reason.WOULD_BE_DROPPED]: "unsupported_parameter",
  [Reason.PREVIOUS_RESPONSE_NOT_FOUND]: "previous_response_not_found",
  [Reason.PERMISSION_DENIED]: "insufficient_permissions",
  [Reason.MODEL_NOT_PERMITTED]: "model_not_found",
  [Reason.MODEL_UNPRICED]: "insufficient_permissions",
  [Reason.ACCOUNT_SUSPENDED]: "account_deactivated",
  [Reason.ADDRESS_NOT_PERMITTED]: "ip_not_authorized",
  [Reason.INSUFFICIENT_CREDIT]: "insufficient_quota",
  [Reason.BUDGET_EXCEEDED]: "budget_exceeded",
  [Reason.RATE_LIMITED]: "rate_limit_exceeded",
  [Reason.IDEMPOTENCY_CONFLICT]: "conflict",
  [Reason.CONFLICT]: "conflict",
  [Reason.UPSTREAM_BUSY]: "service_unavailable",
  [Reason.GATEWAY_BUSY]: "service_unavailable",
  [Reason.STORAGE_UNAVAILABLE]: "service_unavailable",
  [Reason.IDEMPOTENCY_RUNNING]: "conflict",
  [Reason.NOT_CACHED]: "not_cached",
};

/** The OpenAI API's codes for the refusal of an upstream of another family, by status. */
const openaiCodesByStatus: Readonly<Record<number, string>> = {
  402: "insufficient_quota",
  404: "model_not_found",
  413: "request_too_large",
  429: "rate_limit_exceeded",
  503: "service_unavailable",
};

function codeOf({ reason, status, openaiCode }: Refusal): string | null {
  if (openaiCode !== undefined) return openaiCode;
  if (reason !== Reason.UPSTREAM_REFUSED) return openaiCodes[reason] ?? null;
  return openaiCodesByStatus[status] ?? (status >= 500 ? "upstream_error" : null);
}

function anthropicBody(refusal: Refusal, id: string): Buffer {
  const { status, reason, message, vendorMessage = message } = refusal;
  const code = anthropicCodes[reason];
  const details = code === undefined ? {} : { details: { error_code: code } };
  const error = { type: anthropicType(status), message: vendorMessage, ...details };
  return Buffer.from(JSON.stringify({ type: "error", error, request_id: id }));
}

/** The Anthropic API's codes of the reasons upon which its clients act. Of what is stored, they ask for threads only. */
const anthropicCodes: Readonly<Partial<Record<Reason, string>>> = {
  [Reason.NOT_STORED]: "thread_not_found",
};

/** The Anthropic API's error types by status. */
const anthropicTypes: Readonly<Record<number, string>> = {
  401: "authentication_error",
  402: "billing_error",
  403: "permission_error",
  404: "not_found_error",
  408: "timeout_error",
  409: "conflict_error",
  413: "request_too_large",
  429: "rate_limit_error",
  503: "overloaded_error",
  504: "timeout_error",
};

function anthropicType(status: number): string {
  return anthropicTypes[status] ?? (status >= 500 ? "api_error" : "invalid_request_error");
}
