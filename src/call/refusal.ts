/**
 * A call that is not answered: why, by which gRPC code and HTTP status, and in which words. `refusals.ts` makes them all.
 */
import { Code } from "@connectrpc/connect";
import type { Family } from "../../gen/modelgateway/v1/access_pb.ts";
import { Reason } from "../../gen/modelgateway/v1/errors_pb.ts";

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
  [Reason.PERMISSION_DENIED]: [Code.PermissionDenied, 403],
  [Reason.MODEL_NOT_PERMITTED]: [Code.PermissionDenied, 403],
  [Reason.MODEL_UNPRICED]: [Code.FailedPrecondition, 403],
  [Reason.ACCOUNT_SUSPENDED]: [Code.PermissionDenied, 403],
  [Reason.INSUFFICIENT_CREDIT]: [Code.FailedPrecondition, 402],
  [Reason.RATE_LIMITED]: [Code.ResourceExhausted, 429],
  [Reason.RESOURCE_NOT_FOUND]: [Code.NotFound, 404],
  [Reason.IDEMPOTENCY_CONFLICT]: [Code.AlreadyExists, 409],
  [Reason.CONFLICT]: [Code.AlreadyExists, 409],
  [Reason.SIGN_IN_FAILED]: [Code.Unauthenticated, 401],
  [Reason.SECOND_FACTOR_NEEDED]: [Code.Unauthenticated, 401],
  [Reason.SESSION_ENDED]: [Code.Unauthenticated, 401],
  [Reason.LINK_INVALID]: [Code.NotFound, 404],
  [Reason.CROSS_SITE]: [Code.PermissionDenied, 403],
  [Reason.REGISTRATION_CLOSED]: [Code.PermissionDenied, 403],
  [Reason.UPSTREAM_BUSY]: [Code.Unavailable, 503],
  [Reason.IDEMPOTENCY_RUNNING]: [Code.Aborted, 409],
  [Reason.GATEWAY_BUSY]: [Code.Unavailable, 503],
  [Reason.STORAGE_UNAVAILABLE]: [Code.Unavailable, 503],
  [Reason.NOT_CACHED]: [Code.FailedPrecondition, 504],
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
  /** What OpenAI's API calls it, where the reason and the status do not tell. */
  readonly openaiCode: string | undefined;
  /** What the upstream did wrong, in the gateway's own words, shorter than the message: for whoever operates the gateway. */
  readonly fault: string | undefined;
  /** Whether time ran out that the caller had set: which tells nothing of the upstream. */
  readonly isCallersBound: boolean;
  /** Whether the upstream turned out not to have the operation at all: nobody has been asked. */
  readonly isUnserved: boolean;
  /** What kind of credential was wrong, where one was: whoever shows one may be guessing. */
  readonly guessed: CredentialKind | undefined;

  constructor(reason: keyof typeof standings, message: string, more: More = {}) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.reason = reason;
    [this.code, this.status] = more.standing ?? standings[reason];
    this.param = more.param;
    this.headers = more.headers ?? {};
    this.upstream = more.upstream;
    this.vendorMessage = more.vendorMessage;
    this.openaiCode = more.openaiCode;
    this.fault = more.fault;
    this.isCallersBound = more.isCallersBound ?? false;
    this.isUnserved = more.isUnserved ?? false;
    this.guessed = more.guessed;
  }

  /** Returns the same refusal with these headers besides, and about this field. */
  with({ headers, param = this.param }: Pick<More, "headers" | "param">): Refusal {
    const { message, code, status, upstream, vendorMessage, openaiCode, fault, cause } = this;
    const { isCallersBound, isUnserved, guessed } = this;
    return new Refusal(this.reason as keyof typeof standings, message, {
      param,
      headers: { ...this.headers, ...headers },
      standing: [code, status],
      ...{ upstream, vendorMessage, openaiCode, fault, isCallersBound, isUnserved, guessed, cause },
    });
  }
}

/** What somebody shows to be let in. */
export type CredentialKind = (typeof credentialKinds)[number];

export const credentialKinds = [
  ...(["api_key", "operator_key", "session", "session_key"] as const),
  ...(["redeem_code", "sign_in", "link"] as const),
];

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
  readonly vendorMessage?: string | undefined;
  readonly openaiCode?: string | undefined;
  readonly fault?: string | undefined;
  readonly isCallersBound?: boolean;
  readonly isUnserved?: boolean;
  readonly guessed?: CredentialKind | undefined;
  readonly standing?: readonly [code: Code, status: number];
}

const words = new Map(Object.entries(Reason).map(([word, number]) => [number as Reason, word]));

/** The word of a reason, as the contract has it. */
export function reasonWord(reason: Reason): string {
  return words.get(reason) ?? "UNSPECIFIED";
}

/** The gRPC code of an upstream's refusal, by its status. */
export function codeOfStatus(status: number): Code {
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
