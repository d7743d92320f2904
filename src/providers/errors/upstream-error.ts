/**
 * An upstream's error answer → the refusal that the caller gets, of either family.
 *
 * The caller's own mistakes (4xx) and a busy upstream (429, 503) are passed on in the upstream's words, whatever shape it put
 * them into. 401 and 403 are the gateway's own credential failing, and 402 its own credit, which is no fault of the caller's:
 * 502, in the gateway's words. Nor is it that the upstream has no model of the name that the gateway is configured with: 502.
 * Other 5xx are 502, or 504 where time ran out. A conversation that is too long is 400 whatever the status. An error that comes
 * with status 200, as those inside streams do, has the status that its words mean.
 */
import type { JsonObject } from "@bufbuild/protobuf";
import { Family } from "../../../gen/modelgateway/v1/access_pb.ts";
import {
  type Refusal,
  upstreamFailed,
  upstreamLacksModel,
  upstreamRefused,
  upstreamRefusedAccount,
  upstreamRefusedCredential,
  upstreamTimeout,
} from "../../call/refusals.ts";
import { retryDelayIn } from "../upstream/retry-delay.ts";
import { type ContextOverflow, readOverflow } from "./context-overflow.ts";
import { type Meaning, meaningOf, statusMeant } from "./error-meaning.ts";
import { type ErrorFields, readErrorBody, readErrorJson } from "./error-words.ts";
import type { Redact } from "./hidden-words.ts";

export interface UpstreamError {
  /** Undefined where the error came in the place of an answer. */
  readonly status: number | undefined;
  readonly body: Buffer;
  /** The header `retry-after`, as it came. */
  readonly retryAfter: string | undefined;
  /** The model's name at the upstream, where it is known. */
  readonly model?: string;
}

/** What the errors of a family have that others have not. */
export interface ErrorDialect {
  readonly family: Family;
  /** Takes the operator's own out of what the caller is told. */
  readonly redact: Redact;
  /** Whether callers of the family know the error as it came. */
  isOwn(words: ErrorFields): boolean;
  /** Returns the status that its words mean where they tell more than the one that it came with; undefined otherwise. */
  statusOf(words: ErrorFields): number | undefined;
  /** Returns the error as the family's callers look for it where a conversation is too long; undefined: it is told anew. */
  overflowBody(json: JsonObject): JsonObject | undefined;
}

/** The errors of OpenAI and everything compatible. */
export function openAiErrors(hide: Redact): ErrorDialect {
  return {
    family: Family.OPENAI,
    redact: hide,
    isOwn: ({ isOpenAi }) => isOpenAi,
    statusOf: () => undefined,
    overflowBody: (json) => ({ ...json, error: { ...(json.error as JsonObject), code: "context_length_exceeded" } }),
  };
}

/** Returns the refusal for an error answer. */
export function refusalOfAnswer(error: UpstreamError, dialect: ErrorDialect): Refusal {
  return refusalOfWords(readErrorBody(error.body), error, dialect);
}

/** Returns the refusal for an error in the place of an answer, or inside a stream. */
export function refusalOfErrorIn(json: JsonObject, body: Buffer, dialect: ErrorDialect): Refusal {
  const error = { status: undefined, body, retryAfter: undefined };
  return refusalOfWords(readErrorJson(json), error, dialect);
}

function refusalOfWords(words: ErrorFields, error: UpstreamError, dialect: ErrorDialect): Refusal {
  const { retryAfter = retryDelayIn(words.error), model } = error;
  const status = dialect.statusOf(words) ?? error.status ?? statusMeant(words.codes) ?? 500;
  const meaning = meaningOf(words, status);
  const overflow = meaning === "credit" ? undefined : readOverflow(words);
  if (overflow) return refusalOfOverflow(words, overflow, error, dialect);
  if (meaning) return refusalOfMeaning(meaning, `status ${status}`, model);
  const told = callerStatus(status);
  // A proxy's words for what is broken behind it are of no use to callers.
  if (words.message === undefined || (words.isText && told >= 500))
    return refusalOfStatus(error.status, status, retryAfter);
  const fault = error.status === undefined || told === error.status ? undefined : faultOfStatus(error.status);
  const said = { message: dialect.redact(words.message), param: words.param, fault: told < 500 ? undefined : fault };
  const body = dialect.isOwn(words) ? ownBody(words, error.body, dialect) : undefined;
  return upstreamRefused(told, said, body && { family: dialect.family, body }, retryHeaders(told, retryAfter));
}

/** As it came; but where its message only says that there is another, with both. */
function ownBody({ message, error }: ErrorFields, body: Buffer, { redact }: ErrorDialect): Buffer {
  const text = body.toString();
  if (error.message === message) return Buffer.from(redact(text));
  const json = JSON.parse(text) as JsonObject;
  return Buffer.from(redact(JSON.stringify({ ...json, error: { ...error, message } })));
}

/** Told as the family's clients know it: they shorten the conversation. The upstream is well. */
function refusalOfOverflow(
  words: ErrorFields,
  overflow: ContextOverflow,
  { body }: UpstreamError,
  dialect: ErrorDialect,
) {
  const message = dialect.redact(words.message ?? "The conversation is too long for this model.");
  const said = { ...overflow, message, vendorMessage: dialect.redact(overflow.vendorMessage) };
  const own = dialect.isOwn(words) ? overflowBody(body, overflow, dialect) : undefined;
  return upstreamRefused(400, said, own && { family: dialect.family, body: own }, {});
}

function overflowBody(body: Buffer, { openaiCode, vendorMessage }: ContextOverflow, dialect: ErrorDialect) {
  const text = body.toString();
  const json = JSON.parse(text) as { readonly error: JsonObject };
  const isKnown = json.error.code === openaiCode || json.error.message === vendorMessage;
  const told = isKnown ? text : JSON.stringify(dialect.overflowBody(json));
  return told === undefined ? undefined : Buffer.from(dialect.redact(told));
}

function refusalOfMeaning(meaning: Meaning, answer: string, model: string | undefined): Refusal {
  switch (meaning) {
    case "credit":
      return upstreamRefusedAccount(answer);
    case "credential":
      return upstreamRefusedCredential(answer);
    case "model":
      return upstreamLacksModel(`${answer}${named(model)}`);
    case "late":
      return upstreamTimeout();
  }
}

/** Returns the refusal for an error that says nothing, or nothing that callers should read: a proxy's on the way, say. */
function refusalOfStatus(answered: number | undefined, status: number, retryAfter: string | undefined): Refusal {
  const told = callerStatus(status);
  if (answered === undefined) return upstreamFailed("it answered with an error");
  if (told >= 500 && told !== 503) return upstreamFailed(faultOfStatus(answered));
  const message = `The upstream of this model answered with status ${answered}.`;
  return upstreamRefused(told, { message, param: undefined }, undefined, retryHeaders(told, retryAfter));
}

function faultOfStatus(status: number): string {
  return `it answered with status ${status}`;
}

/** Statuses that one vendor alone has, for what others say by another: Groq's and Anthropic's, and a failure as 4xx. */
const vendorsOwn: ReadonlyMap<number, number> = new Map([
  ...[498, 529].map((status) => [status, 503] as const),
  ...[424, 499].map((status) => [status, 502] as const),
]);

/** Returns the status that the caller sees. */
function callerStatus(status: number): number {
  const own = vendorsOwn.get(status) ?? status;
  return (own >= 400 && own < 500) || own === 503 ? own : 502;
}

/** Names the model at fault in the log: it is the operator's own word. */
function named(model: string | undefined): string {
  return model === undefined ? "" : ` for ${model}`;
}

/**
 * Returns the hint when to come back, in seconds from 1 to 60: some clients take no longer one, and others would sleep
 * for days.
 */
function retryHeaders(status: number, retryAfter: string | undefined): Record<string, string> {
  const asSeconds = Number(retryAfter ?? Number.NaN);
  const asDate = (Date.parse(retryAfter ?? "") - Date.now()) / 1000;
  const seconds = Number.isNaN(asSeconds) ? asDate : asSeconds;
  if (!Number.isNaN(seconds)) return { "retry-after": `${Math.min(60, Math.max(1, Math.ceil(seconds)))}` };
  return status === 429 || status === 503 ? { "retry-after": "1" } : {};
}
