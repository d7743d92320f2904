/**
 * Refusal is the error of a call that is not answered: its reason, gRPC code, HTTP status and message. `refusals.ts` makes them
 * all.
 */
import { Code } from "@connectrpc/connect";
import type { Family } from "../../gen/modelgateway/v1/access_pb.ts";
import { Reason } from "../../gen/modelgateway/v1/errors_pb.ts";
import type { Caller } from "./call.ts";
import type { Conflict } from "./conflicts.ts";

/** The gRPC code and HTTP status of each reason. */
const statusOf = {
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
  [Reason.UPSTREAM_REFUSED]: [Code.InvalidArgument, 400], // Replaced by the upstream's own status.
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
  [Reason.BUDGET_EXCEEDED]: [Code.FailedPrecondition, 402],
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
  [Reason.ADDRESS_NOT_PERMITTED]: [Code.PermissionDenied, 403],
} as const;

export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly reason: Reason;
  readonly code: Code;
  readonly status: number;
  /** The public path of the field at fault. */
  readonly param: string | undefined;
  /** paths are the public paths that the message quotes; none where it quotes `param` alone. */
  readonly paths: readonly string[];
  /** Headers of the answer, as `allow` and `retry-after`. */
  readonly headers: Readonly<Record<string, string>>;
  /** The upstream's own error body, verbatim, for callers of its family. */
  readonly upstream: UpstreamError | undefined;
  /** answered is the upstream's error body in whatever form it came, for the gateway's own reading and for no caller. */
  readonly answered: Buffer | undefined;
  /** The message as Anthropic's API words it, where its clients look for that text. */
  readonly vendorMessage: string | undefined;
  /** The error's `code` in OpenAI's API, where reason and status do not determine it. */
  readonly openaiCode: string | undefined;
  /** The upstream's fault in the gateway's own words, for the operator. */
  readonly fault: string | undefined;
  /** isCallersBound is whether a time-out of the caller's own has passed, which says nothing about the upstream. */
  readonly isCallersBound: boolean;
  /** isUnserved is whether the upstream turned out not to serve the operation at all. Then no model was asked. */
  readonly isUnserved: boolean;
  /** misconfigured is what of the gateway's own configuration the upstream refused. */
  readonly misconfigured: "credential" | "account" | "model" | undefined;
  /** upstreamStatus is the status that the upstream answered with, where the refusal has another. */
  readonly upstreamStatus: number | undefined;
  /** restMs is how long the upstream asks to be left alone, in milliseconds; undefined where it does not. Callers are told of less. */
  readonly restMs: number | undefined;
  /** documentFaults are the mistakes in a document that was checked as a whole. */
  readonly documentFaults: readonly DocumentFault[];
  /** conflict is what the call conflicts with; undefined for other reasons. */
  readonly conflict: Conflict | undefined;
  /** The kind of credential that was wrong, if one was: a client that sends it may be guessing. */
  readonly guessed: CredentialKind | undefined;
  /** caller is whom admission refused; undefined where it did not know, and for later refusals. */
  caller: Caller | undefined;

  constructor(reason: keyof typeof statusOf, message: string, more: More = {}) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.reason = reason;
    [this.code, this.status] = more.codes ?? statusOf[reason];
    this.param = more.param;
    this.paths = more.paths ?? [];
    this.headers = more.headers ?? {};
    this.upstream = more.upstream;
    this.answered = more.answered;
    this.vendorMessage = more.vendorMessage;
    this.openaiCode = more.openaiCode;
    this.fault = more.fault;
    this.isCallersBound = more.isCallersBound ?? false;
    this.isUnserved = more.isUnserved ?? false;
    this.misconfigured = more.misconfigured;
    this.upstreamStatus = more.upstreamStatus;
    this.restMs = more.restMs;
    this.guessed = more.guessed;
    this.caller = undefined;
    this.documentFaults = more.documentFaults ?? [];
    this.conflict = more.conflict;
  }

  /**
   * Returns the same refusal by other paths: `rename` returns that of a path, and undefined where there is none. Then the message keeps
   * the path, and no field is told to be at fault.
   */
  renamed(rename: (path: string) => string | undefined): Refusal {
    if (this.param === undefined) return this;
    const quoted = new Set([this.param, ...this.paths]);
    const message = this.message.replace(/'([^']+)'/g, (word, path: string) =>
      quoted.has(path) ? `'${rename(path) ?? path}'` : word,
    );
    const named = [...new Set(this.paths.map((path) => rename(path) ?? path))];
    return this.#again({ message, param: rename(this.param), paths: named });
  }

  /** Returns the same refusal with more headers, or about another field. */
  with({ headers, param = this.param }: Pick<More, "headers" | "param">): Refusal {
    return this.#again({ param, headers: { ...this.headers, ...headers } });
  }

  #again(changes: Pick<More, "param" | "headers" | "paths"> & { readonly message?: string }): Refusal {
    const { code, status, paths, headers, upstream, answered, vendorMessage, openaiCode, fault, cause } = this;
    const { isCallersBound, isUnserved, misconfigured, upstreamStatus, restMs } = this;
    const { guessed, documentFaults, conflict } = this;
    const again = new Refusal(this.reason as keyof typeof statusOf, changes.message ?? this.message, {
      codes: [code, status],
      paths,
      headers,
      upstream,
      answered,
      vendorMessage,
      openaiCode,
      fault,
      isCallersBound,
      isUnserved,
      misconfigured,
      upstreamStatus,
      restMs,
      guessed,
      documentFaults,
      conflict,
      cause,
      ...changes,
    });
    again.caller = this.caller;
    return again;
  }
}

/** CredentialKind are the kinds of credentials that can be guessed. */
export type CredentialKind = (typeof credentialKinds)[number];

export const credentialKinds = [
  ...(["api_key", "operator_key", "session", "session_key"] as const),
  ...(["redeem_code", "sign_in", "link"] as const),
];

/** DocumentFault is a mistake in a document: its place, and what is wrong, which begins with the place. */
export interface DocumentFault {
  readonly path?: string | undefined;
  readonly message: string;
  /** reason is the name of a FaultReason of the contract; absent where only the message says what is wrong. */
  readonly reason?: string | undefined;
  readonly parameters?: Readonly<Record<string, string>> | undefined;
  /** file is the file that has the fault, and line its line, from 1; absent for a document that was sent, or is stored. */
  readonly file?: string | undefined;
  readonly line?: number | undefined;
}

export interface UpstreamError {
  readonly family: Family;
  readonly body: Buffer;
}

interface More {
  readonly param?: string | undefined;
  readonly paths?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
  /** The underlying error, for the log and never for the caller. */
  readonly cause?: unknown;
  readonly upstream?: UpstreamError | undefined;
  readonly answered?: Buffer | undefined;
  readonly vendorMessage?: string | undefined;
  readonly openaiCode?: string | undefined;
  readonly fault?: string | undefined;
  readonly isCallersBound?: boolean;
  readonly isUnserved?: boolean;
  readonly misconfigured?: Refusal["misconfigured"];
  readonly upstreamStatus?: number | undefined;
  readonly restMs?: number | undefined;
  readonly guessed?: CredentialKind | undefined;
  readonly documentFaults?: readonly DocumentFault[];
  readonly conflict?: Conflict | undefined;
  readonly codes?: readonly [code: Code, status: number];
}

const words = new Map(Object.entries(Reason).map(([word, number]) => [number as Reason, word]));

const reasons = new Map([...words].map(([reason, word]) => [word, reason]));

/** reasonWord returns the name of a reason in the contract. */
export function reasonWord(reason: Reason): string {
  return words.get(reason) ?? "UNSPECIFIED";
}

/** reasonOf returns the reason of a name in the contract; undefined where it is none. */
export function reasonOf(word: string): Reason | undefined {
  return reasons.get(word);
}

/** codeOfStatus returns the gRPC code of an upstream's refusal by its HTTP status. */
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
