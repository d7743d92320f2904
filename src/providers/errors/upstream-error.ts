/**
 * An upstream's error answer → the caller's refusal, in either family.
 *
 * The caller's own mistakes (4xx) and overload (429, 503) keep the upstream's message, whatever its shape. 401 and
 * 403 mean that the gateway's own credential failed, and 402 its own credit: the caller gets 502 in the gateway's
 * words, and so it does where the upstream lacks the configured model. Other 5xx become 502, or 504 after a timeout.
 * A conversation that is too long is 400 whatever the status, and codes of overload count with the statuses of other
 * errors. An error with status 200, as in streams, gets the status that its codes mean.
 */
import type { JsonObject } from "@bufbuild/protobuf";
import { Family } from "../../../gen/modelgateway/v1/access_pb.ts";
import {
  faultOfStatus,
  type Refusal,
  upstreamAnswered,
  upstreamFailed,
  upstreamFailedByStatus,
  upstreamLacksModel,
  upstreamLacksPath,
  upstreamRefused,
  upstreamRefusedAccount,
  upstreamRefusedCredential,
  upstreamTimeout,
} from "../../call/refusals.ts";
import { parseJsonText } from "../../wire/scan/parse-json-text.ts";
import { retryDelayIn } from "../upstream/retry-delay.ts";
import { type ContextOverflow, readOverflow } from "./context-overflow.ts";
import { detailCodeOf, type ErrorFields, readErrorBody, readErrorJson } from "./error-fields.ts";
import { isOfNamed, type Meaning, meaningOf, servesNothing } from "./error-meaning.ts";
import { exactStatus, toldStatus } from "./error-status.ts";
import type { Redact } from "./redact.ts";

export interface UpstreamError {
  /** Undefined where the error came in place of an answer. */
  readonly status: number | undefined;
  readonly body: Buffer;
  /** How long the headers ask to wait, in seconds. */
  readonly retryAfter: number | undefined;
  /** The model's name at the upstream, where it is known. */
  readonly model?: string;
}

/** ErrorDialect is how the errors of one family differ from those of others. */
export interface ErrorDialect {
  readonly family: Family;
  /** Removes the operator's secrets from what the caller sees. */
  readonly redact: Redact;
  /** Reports whether callers of the family know the error as it came. */
  isOwn(words: ErrorFields): boolean;
  /** Returns the status that the error's own words mean, where they say more than its status; else undefined. */
  statusOf(words: ErrorFields): number | undefined;
  /**
   * Returns the error of a conversation that is too long as the family's callers know it; undefined: it is written
   * anew.
   */
  overflowBody(json: JsonObject): JsonObject | undefined;
  /** saysOverflow reports whether an error says so already, as the family's callers know it. */
  saysOverflow(error: JsonObject, overflow: ContextOverflow): boolean;
  /** Returns the error with all members that the family's typed clients require; the same object where nothing is missing. */
  typed(error: JsonObject, status: number): JsonObject;
}

/** The errors of OpenAI and everything compatible. */
export function openAiErrors(hide: Redact): ErrorDialect {
  return {
    family: Family.OPENAI,
    redact: hide,
    isOwn: ({ isOpenAi }) => isOpenAi,
    statusOf: () => undefined,
    overflowBody: (json) => ({ ...json, error: { ...(json.error as JsonObject), code: "context_length_exceeded" } }),
    saysOverflow: ({ code }, { openaiCode }) => code === openaiCode,
    typed: typedError,
  };
}

/**
 * typedError keeps what a server adds. Clients in typed languages cannot read an error whose code is a number, or which lacks its type, and
 * report that instead of the message.
 */
function typedError(error: JsonObject, status: number): JsonObject {
  const { type = null, param = null, code = null } = error;
  const typed = {
    type: typeof type === "string" ? type : typeOf(status),
    param: typeof param === "string" ? param : null,
    code: typeof code === "number" ? `${code}` : typeof code === "string" ? code : null,
  };
  const isTyped = error.type === typed.type && error.param === typed.param && error.code === typed.code;
  return isTyped ? error : { ...error, ...typed };
}

function typeOf(status: number): string {
  if (status === 429) return "requests";
  return status >= 500 ? "server_error" : "invalid_request_error";
}

/** refusalOfAnswer returns the refusal for an error answer. */
export function refusalOfAnswer(error: UpstreamError, dialect: ErrorDialect): Refusal {
  return refusalOfWords(readErrorBody(error.body), error, dialect);
}

/** refusalOfErrorIn returns the refusal for an error in place of an answer, or inside a stream. */
export function refusalOfErrorIn(json: JsonObject, body: Buffer, dialect: ErrorDialect): Refusal {
  const error = { status: undefined, body, retryAfter: undefined };
  return refusalOfWords(readErrorJson(json), error, dialect);
}

function refusalOfWords(words: ErrorFields, error: UpstreamError, dialect: ErrorDialect): Refusal {
  const told = error.status === undefined ? toldStatus(words) : exactStatus(error.status, words);
  const status = dialect.statusOf(words) ?? told ?? 500;
  const { retryAfter = retryDelayIn(words.error, words.message), model } = error;
  const isOfCallers = isOfNamed(words, error.status, told);
  const meaning = isOfCallers ? undefined : meaningOf(words, status);
  const overflow = meaning === "credit" || isOfCallers ? undefined : readOverflow(words);
  if (overflow) return refusalOfOverflow(words, overflow, error, dialect);
  if (meaning) return refusalOfMeaning(meaning, status, model);
  if (error.status !== undefined && !isOfCallers && servesNothing(words, status)) return upstreamLacksPath(status);
  const callerStatusCode = isOfCallers && !(status === 400 || status === 404) ? failedDependency : callerStatus(status);
  // A proxy's message about what is broken behind it is of no use to callers.
  if (words.message === undefined || (words.isText && callerStatusCode >= 500))
    return refusalOfStatus(error.status, status, retryAfter);
  const fault =
    error.status === undefined || callerStatusCode === error.status ? undefined : faultOfStatus(error.status);
  // OpenAI's callers read a code where Anthropic's read details.
  const code = callerStatusCode === 400 ? detailCodeOf(words.error) : undefined;
  const fields = {
    message: dialect.redact(words.message),
    answered: error.body,
    param: words.param,
    openaiCode: code && dialect.redact(code),
    fault: callerStatusCode < 500 ? undefined : fault,
    restMs: retryAfter === undefined ? undefined : retryAfter * 1000,
  };
  const body = dialect.isOwn(words) ? ownBody(words, error.body, callerStatusCode, dialect) : undefined;
  return upstreamRefused(
    callerStatusCode,
    fields,
    body && { family: dialect.family, body },
    retryHeaders(callerStatusCode, retryAfter),
  );
}

/** ownBody returns the body as it came, with what it lacks. Where its message only names another error, it gets both messages. */
function ownBody({ message, error }: ErrorFields, body: Buffer, status: number, dialect: ErrorDialect): Buffer {
  const text = body.toString();
  const typed = dialect.typed(error, status);
  if (typed === error && error.message === message) return Buffer.from(dialect.redact(text));
  const json = parseJsonText(text) as JsonObject;
  return Buffer.from(dialect.redact(JSON.stringify({ ...json, error: { ...typed, message } })));
}

/** refusalOfOverflow words the refusal as the family's clients know it, so that they shorten the conversation. The upstream is healthy. */
function refusalOfOverflow(
  words: ErrorFields,
  overflow: ContextOverflow,
  { body }: UpstreamError,
  dialect: ErrorDialect,
) {
  const message = dialect.redact(words.message ?? "The conversation is too long for this model.");
  const fields = { ...overflow, message, vendorMessage: dialect.redact(overflow.vendorMessage) };
  const own = dialect.isOwn(words) ? overflowBody(body, overflow, dialect) : undefined;
  return upstreamRefused(400, fields, own && { family: dialect.family, body: own }, {});
}

function overflowBody(body: Buffer, overflow: ContextOverflow, dialect: ErrorDialect) {
  const text = body.toString();
  const json = parseJsonText(text) as { readonly error: JsonObject };
  const error = dialect.typed(json.error, 400);
  const isKnown = dialect.saysOverflow(error, overflow);
  const own =
    isKnown && error === json.error
      ? text
      : JSON.stringify(isKnown ? { ...json, error } : dialect.overflowBody({ ...json, error }));
  return own === undefined ? undefined : Buffer.from(dialect.redact(own));
}

function refusalOfMeaning(meaning: Meaning, status: number, model: string | undefined): Refusal {
  switch (meaning) {
    case "credit":
      return upstreamRefusedAccount(status);
    case "credential":
      return upstreamRefusedCredential(status);
    case "model":
      return upstreamLacksModel(status, model);
    case "late":
      return upstreamTimeout();
  }
}

/** refusalOfStatus returns the refusal for an error without a message that callers should read, such as a proxy's. */
function refusalOfStatus(answered: number | undefined, status: number, retryAfter: number | undefined): Refusal {
  const callerStatusCode = callerStatus(status);
  if (answered === undefined) return upstreamFailed("it answered with an error");
  if (callerStatusCode >= 500 && callerStatusCode !== 503) return upstreamFailedByStatus(answered);
  const message = upstreamAnswered(answered);
  return upstreamRefused(
    callerStatusCode,
    { message, param: undefined, restMs: retryAfter === undefined ? undefined : retryAfter * 1000 },
    undefined,
    retryHeaders(callerStatusCode, retryAfter),
  );
}

/** Statuses that a single vendor uses for what others say by another: Groq's, Anthropic's, and failures as 4xx. */
const vendorsOwn: ReadonlyMap<number, number> = new Map([
  ...[498, 529].map((status) => [status, 503] as const),
  ...[424, 499].map((status) => [status, 502] as const),
]);

/** failedDependency is the status where what a caller has named has failed. */
const failedDependency = 424;

/** callerStatus returns the status that the caller sees. */
function callerStatus(status: number): number {
  const own = vendorsOwn.get(status) ?? status;
  return (own >= 400 && own < 500) || own === 503 ? own : 502;
}

/** retryHeaders returns a `retry-after` of 1 to 60 seconds: some clients ignore longer ones, and others would sleep for days. */
function retryHeaders(status: number, retryAfter: number | undefined): Record<string, string> {
  if (retryAfter !== undefined) return { "retry-after": `${Math.min(60, Math.max(1, Math.ceil(retryAfter)))}` };
  return status === 429 || status === 503 ? { "retry-after": "1" } : {};
}
