/**
 * Every refusal that the gateway can give, in one place: its reason, its gRPC code, its HTTP status and its words.
 *
 * The words tell the caller what to do. They never hold a secret, a prompt, an answer, or text of an upstream's
 * that is not meant for the caller. Doors write a refusal in the shape of the caller's family
 * (`transport/problems.ts`, `transport/rpc.ts`); nothing else makes errors for callers.
 */
import { Code } from "@connectrpc/connect";
import type { Family } from "../gen/modelgateway/v1/access_pb.ts";
import { Reason } from "../gen/modelgateway/v1/errors_pb.ts";
import { WireFault } from "./wire/fault.ts";

export { Reason };

/** The gRPC code and HTTP status of each reason. */
const standings = {
  [Reason.MALFORMED_BODY]: [Code.InvalidArgument, 400],
  [Reason.INVALID_TYPE]: [Code.InvalidArgument, 400],
  [Reason.INVALID_VALUE]: [Code.InvalidArgument, 400],
  [Reason.MISSING_FIELD]: [Code.InvalidArgument, 400],
  [Reason.UNSUPPORTED_MEDIA_TYPE]: [Code.InvalidArgument, 415],
  [Reason.REQUEST_TOO_LARGE]: [Code.ResourceExhausted, 413],
  [Reason.REQUEST_TIMEOUT]: [Code.DeadlineExceeded, 408],
  [Reason.INVALID_API_KEY]: [Code.Unauthenticated, 401],
  [Reason.MODEL_NOT_FOUND]: [Code.NotFound, 404],
  [Reason.UNKNOWN_PATH]: [Code.Unimplemented, 404],
  [Reason.METHOD_NOT_ALLOWED]: [Code.Unimplemented, 405],
  [Reason.UPSTREAM_REFUSED]: [Code.InvalidArgument, 400], // The upstream's own, by `upstreamRefused`.
  [Reason.UPSTREAM_FAILED]: [Code.Unavailable, 502],
  [Reason.UPSTREAM_TIMEOUT]: [Code.DeadlineExceeded, 504],
  [Reason.CANCELLED]: [Code.Canceled, 499],
  [Reason.INTERNAL]: [Code.Internal, 500],
  [Reason.WOULD_BE_DROPPED]: [Code.InvalidArgument, 400],
  [Reason.PREVIOUS_RESPONSE_NOT_FOUND]: [Code.NotFound, 400], // OpenAI's status for it.
  [Reason.NOT_STORED]: [Code.NotFound, 404],
} as const;

/** A call that is not answered, and why. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly reason: Reason;
  readonly code: Code;
  readonly status: number;
  /** Public path of the field at fault. */
  readonly param: string | undefined;
  /** Headers that the answer carries: allow, retry-after. */
  readonly headers: Readonly<Record<string, string>>;
  /** The upstream's own error body, word for word, for callers of its family. */
  readonly upstream: UpstreamWords | undefined;
  /** The message in the words of Anthropic's API, where clients look for them. */
  readonly vendorMessage: string | undefined;

  constructor(reason: keyof typeof standings, message: string, more: More = {}) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.reason = reason;
    [this.code, this.status] = more.standing ?? standings[reason];
    this.param = more.param;
    this.headers = more.headers ?? {};
    this.upstream = more.upstream;
    this.vendorMessage = more.vendorMessage;
  }
}

export interface UpstreamWords {
  readonly family: Family;
  readonly body: Buffer;
}

interface More {
  readonly param?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  /** What went wrong underneath; for the log, never for the caller. */
  readonly cause?: unknown;
  readonly upstream?: UpstreamWords | undefined;
  readonly vendorMessage?: string;
  readonly standing?: readonly [code: Code, status: number];
}

/** Makes a refusal of whatever was thrown; what nobody foresaw is an internal error with its cause. */
export function asRefusal(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  if (!(error instanceof WireFault)) return internal(error);
  return error.kind === "malformed" ? malformedBody(error.message) : invalidType(error.path, error.message);
}

// The body and its fields.

export function malformedBody(why: string): Refusal {
  return new Refusal(
    Reason.MALFORMED_BODY,
    `The request body could not be read: ${why}. Send one JSON object in UTF-8.`,
  );
}

export function invalidType(param: string, why: string): Refusal {
  return new Refusal(Reason.INVALID_TYPE, `Invalid type for '${param}': ${why}.`, { param });
}

export function invalidValue(param: string, why: string): Refusal {
  return new Refusal(Reason.INVALID_VALUE, `Invalid value for '${param}': ${why}.`, { param });
}

export function missingField(param: string): Refusal {
  return new Refusal(Reason.MISSING_FIELD, `Missing required parameter: '${param}'.`, { param });
}

/** For callers who would rather be refused than have anything left out. */
export function wouldBeDropped(paths: readonly string[]): Refusal {
  const message = `The upstream of this model cannot be told ${paths.map((path) => `'${path}'`).join(", ")}. Leave it out.`;
  return new Refusal(Reason.WOULD_BE_DROPPED, message, { param: paths[0] });
}

export function unsupportedMediaType(accepted: string): Refusal {
  return new Refusal(Reason.UNSUPPORTED_MEDIA_TYPE, `This path reads ${accepted}. Set the headers accordingly.`);
}

export function requestTooLarge(maxBytes: number): Refusal {
  return new Refusal(Reason.REQUEST_TOO_LARGE, `The request body is larger than the limit of ${maxBytes} bytes.`);
}

export function requestTimeout(): Refusal {
  return new Refusal(Reason.REQUEST_TIMEOUT, "The request body did not arrive in time. Send it again.");
}

/** For what never became an HTTP request. */
export function httpNotUnderstood(status: number): Refusal {
  return new Refusal(
    Reason.MALFORMED_BODY,
    "The HTTP request could not be read: its syntax is broken, or its headers are too large or too slow.",
    { standing: [Code.InvalidArgument, status] },
  );
}

// The caller.

const challenge = { "www-authenticate": "Bearer" };

export function missingApiKey(): Refusal {
  return new Refusal(
    Reason.INVALID_API_KEY,
    "You didn't provide an API key. Send it in the header `Authorization: Bearer <API_KEY>`.",
    { headers: challenge },
  );
}

export function invalidApiKey(): Refusal {
  return new Refusal(
    Reason.INVALID_API_KEY,
    "Incorrect API key provided: it is unknown or has been revoked. Check the key, or create a new one.",
    { headers: challenge },
  );
}

// The path and the model.

export function unknownPath(method: string, path: string): Refusal {
  return new Refusal(Reason.UNKNOWN_PATH, `Invalid URL (${method} ${path}): nothing is served there.`);
}

export function methodNotAllowed(method: string, allowed: readonly string[]): Refusal {
  const message = `Not allowed to ${method} on this path. Use ${allowed.join(" or ")}.`;
  return new Refusal(Reason.METHOD_NOT_ALLOWED, message, { headers: { allow: allowed.join(", ") } });
}

export function modelNotFound(model: string): Refusal {
  const message = `The model \`${model}\` does not exist or you do not have access to it.`;
  return new Refusal(Reason.MODEL_NOT_FOUND, message, { param: "model", vendorMessage: `model: ${model}` });
}

// What is kept.

export function previousResponseNotFound(id: string): Refusal {
  const message = `Previous response with id '${id}' not found.`;
  return new Refusal(Reason.PREVIOUS_RESPONSE_NOT_FOUND, message, { param: "previous_response_id" });
}

export function responseNotFound(id: string): Refusal {
  return new Refusal(Reason.NOT_STORED, `Response with id '${id}' not found.`, { param: "id" });
}

export function itemNotFound(id: string): Refusal {
  const message =
    `Item with id '${id}' not found. Items are not persisted when \`store\` is set to false, nor for ever. ` +
    "Send the item itself, or remove it from your input.";
  return new Refusal(Reason.NOT_STORED, message, { param: "input" });
}

export function threadNotFound(): Refusal {
  const message = "No thread was found for this `previous_message_id`. Send the whole conversation.";
  return new Refusal(Reason.NOT_STORED, message, { param: "thread.previous_message_id" });
}

// The upstream.

/** The upstream's own refusal, passed on word for word. `status` is the one that the caller sees. */
export function upstreamRefused(
  status: number,
  words: { readonly message: string; readonly param: string | undefined },
  upstream: UpstreamWords | undefined,
  headers: Readonly<Record<string, string>>,
): Refusal {
  const standing = [codeOfStatus(status), status] as const;
  return new Refusal(Reason.UPSTREAM_REFUSED, words.message, { param: words.param, headers, upstream, standing });
}

export function upstreamFailed(why: string, cause?: unknown): Refusal {
  return new Refusal(Reason.UPSTREAM_FAILED, `The upstream of this model failed: ${why}. Try again.`, { cause });
}

export function upstreamTimeout(): Refusal {
  return new Refusal(Reason.UPSTREAM_TIMEOUT, "The upstream of this model did not answer in time. Try again.");
}

// The gateway.

export function cancelled(): Refusal {
  return new Refusal(Reason.CANCELLED, "The caller went away.");
}

export function internal(cause: unknown): Refusal {
  return new Refusal(
    Reason.INTERNAL,
    "The gateway had an error while handling this request. Quote the request id when you report it.",
    { cause },
  );
}

function codeOfStatus(status: number): Code {
  switch (status) {
    case 404:
      return Code.NotFound;
    case 409:
      return Code.Aborted;
    case 402:
    case 413:
    case 429:
      return Code.ResourceExhausted;
  }
  return status >= 500 ? Code.Unavailable : Code.InvalidArgument;
}
