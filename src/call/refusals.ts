/**
 * All refusals of the gateway, in one place: reason and message of each.
 *
 * A message tells the caller what to do. It never holds a secret, a prompt, an answer, or text of an upstream that is not meant
 * for the caller. Doors write a refusal in the shape of the caller's family
 * (`doors/rest/refusal-answers.ts`, `doors/rpc/rpc.ts`); nothing else makes errors for callers.
 */
import { Code } from "@connectrpc/connect";
import { Reason } from "../../gen/modelgateway/v1/errors_pb.ts";
import { counted } from "../runtime/words/counted.ts";
import { isUnkeptText, troubleOf } from "../runtime/write-trouble.ts";
import { WireFault } from "../wire/fault.ts";
import type { Caller } from "./call.ts";
import { type Conflict, type ConflictWord, conflictMessage } from "./conflicts.ts";
import {
  type CredentialKind,
  codeOfStatus,
  credentialKinds,
  type DocumentFault,
  Refusal,
  reasonOf,
  reasonWord,
  type UpstreamError,
} from "./refusal.ts";

export { type CredentialKind, credentialKinds, Reason, Refusal, reasonOf, reasonWord, type UpstreamError };

/** asRefusal makes a refusal of any error. An unforeseen one becomes an internal error with that cause. */
export function asRefusal(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  if (isUnkeptText(error)) return unkeptText();
  if (!(error instanceof WireFault)) return troubleOf(error) ? storageUnavailable(error) : internal(error);
  const { kind, path, message } = error;
  if (kind === "malformed") return malformedBody(message);
  return kind === "value" ? invalidValue(path, message) : invalidType(path, message);
}

/** refusedTo notes whom admission refuses, and returns the same error. */
export function refusedTo(caller: Caller, error: unknown): unknown {
  if (error instanceof Refusal) error.caller = caller;
  return error;
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

/** unkeptText refuses a request of which the database cannot keep, or look for, a text. */
function unkeptText(): Refusal {
  return new Refusal(
    Reason.INVALID_VALUE,
    "The request has a text with the character NUL (U+0000), which the database does not keep. Leave it out.",
  );
}

export function missingField(param: string): Refusal {
  return new Refusal(Reason.MISSING_FIELD, `Missing required parameter: '${param}'.`, { param });
}

/** The most paths that a message names. */
const maxNamed = 100;

/** wouldBeDropped refuses a strict caller's request, parts of which the upstream's dialect cannot express. */
export function wouldBeDropped(paths: readonly string[]): Refusal {
  const them = paths.length === 1 ? "Leave it out." : "Leave them out.";
  const told = paths.slice(0, maxNamed);
  const more = paths.length > maxNamed ? `, and ${paths.length - maxNamed} more` : "";
  const message = `The upstream of this model cannot be told ${told.map((path) => `'${path}'`).join(", ")}${more}. ${them}`;
  return new Refusal(Reason.WOULD_BE_DROPPED, message, { param: paths[0], paths: told });
}

export function unsupportedMediaType(accepted: string, remedy = "Set the headers accordingly."): Refusal {
  return new Refusal(Reason.UNSUPPORTED_MEDIA_TYPE, `This path reads ${accepted}. ${remedy}`);
}

/** Forms have a lower limit than JSON: they are parsed without interruption. */
export function formTooLarge(maxBytes: number): Refusal {
  const message = `A form may have ${maxBytes} bytes at most. Send the request as JSON.`;
  return new Refusal(Reason.REQUEST_TOO_LARGE, message);
}

/** The answer names the content-codings that are accepted (RFC 9110, 15.5.16). */
export function unsupportedContentCoding(accepted: readonly string[]): Refusal {
  const names = accepted.join(", ");
  const message = `This path reads bodies with the content-encoding ${names} or none. Send it in one of these.`;
  return new Refusal(Reason.UNSUPPORTED_MEDIA_TYPE, message, { headers: { "accept-encoding": names } });
}

export function requestTooLarge(maxBytes: number): Refusal {
  return new Refusal(Reason.REQUEST_TOO_LARGE, `The request body is larger than the limit of ${maxBytes} bytes.`);
}

/** expandedTooLarge refuses a body that is within the limit, but expands beyond it. `param` is the field that makes it. */
export function expandedTooLarge(maxBytes: number, param?: string): Refusal {
  const message = `The request expands to more than the limit of ${maxBytes} bytes.`;
  return new Refusal(Reason.REQUEST_TOO_LARGE, message, { param });
}

/** compressedTooWell refuses a long body that decompresses to more than `maxTimes` its length. */
export function compressedTooWell(maxTimes: number): Refusal {
  const message = `The request body becomes more than ${maxTimes} times its length when it is decompressed. Send it plain.`;
  return new Refusal(Reason.REQUEST_TOO_LARGE, message);
}

/** referredTooLarge refuses a request that refers to more stored bytes than are read for one. */
export function referredTooLarge(maxBytes: number, param: string): Refusal {
  const message = `The kept responses that '${param}' refers to have more than ${maxBytes} bytes. Send their items instead.`;
  return new Refusal(Reason.REQUEST_TOO_LARGE, message, { param });
}

/** bodiesTooMany refuses a body that there is no memory for now. `whose` says whose share is used up. */
export function bodiesTooMany(whose: "the gateway" | "the account"): Refusal {
  const message = `The bodies of the requests that ${whose} has under way take all the room there is for them. Try again in 1 s.`;
  return new Refusal(Reason.GATEWAY_BUSY, message, { headers: { "retry-after": "1" } });
}

/** answerWithoutRoom refuses an answer that there has been no memory for in time. */
export function answerWithoutRoom(): Refusal {
  const message = "The gateway has no memory for so long an answer beside what it has under way. Try again in 1 s.";
  return new Refusal(Reason.GATEWAY_BUSY, message, { headers: { "retry-after": "1" } });
}

export function requestTimeout(): Refusal {
  return new Refusal(Reason.REQUEST_TIMEOUT, "The request body did not arrive in time. Send it again.");
}

/** httpNotUnderstood refuses bytes that are no HTTP request. */
export function httpNotUnderstood(status: number): Refusal {
  return new Refusal(
    Reason.MALFORMED_BODY,
    "The HTTP request could not be read: its syntax is broken, its headers are too large or too slow, " +
      "or it has `host`, `authorization` or `content-type` twice, or a `host` that cannot be. Send each of these once.",
    { codes: [Code.InvalidArgument, status] },
  );
}

// The caller.

/** Tells clients not to retry: they would retry on the status, and the same request would be refused again. */
const permanent = { "x-should-retry": "false" };

const bearer = { "www-authenticate": "Bearer" };
/** Claude Code repeats a 401 ten times over minutes, without a word to its user, unless it is told that this is in vain. */
const challenge = { ...permanent, ...bearer };

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
    { headers: challenge, guessed: "api_key" },
  );
}

/** operatorKeyRefused refuses a credential that is not the operator's, for a call that only the operator may make. */
export function operatorKeyRefused(isConfigured: boolean): Refusal {
  const message = isConfigured
    ? "This call needs the operator key, and the credential is not it. Check it."
    : "This call needs the operator key, and none is configured: set `operator_key` in gateway.yaml.";
  return new Refusal(Reason.INVALID_API_KEY, message, { headers: challenge, guessed: "operator_key" });
}

export function keyDisabled(): Refusal {
  const message = "This API key is disabled. Have it enabled, or use another one.";
  return new Refusal(Reason.INVALID_API_KEY, message, { headers: challenge });
}

/** keyExpired does not say that repeating is in vain: clients that get keys from a program of their user's get the next one, and repeat. */
export function keyExpired(): Refusal {
  const message = "This API key has expired. Use another one.";
  return new Refusal(Reason.INVALID_API_KEY, message, { headers: bearer });
}

export function accountSuspended(): Refusal {
  const message = "The account of this API key is suspended. Ask the operator of the gateway.";
  return new Refusal(Reason.ACCOUNT_SUSPENDED, message);
}

/** `needed` names the credential, as "an API key with administrator privilege". */
export function permissionDenied(needed: string): Refusal {
  return new Refusal(Reason.PERMISSION_DENIED, `This call needs another credential: ${needed}.`);
}

// Sign-in to the dashboard.

export function signInFailed(why = "the e-mail address or the password is wrong"): Refusal {
  return new Refusal(Reason.SIGN_IN_FAILED, `Not signed in: ${why}. Try again.`, { guessed: "sign_in" });
}

/** proofFailed refuses a signed-in user who must confirm a change with password or code. */
export function proofFailed(what: "password" | "code"): Refusal {
  return new Refusal(Reason.SIGN_IN_FAILED, `The ${what} is wrong. Try again.`, { param: what, guessed: "sign_in" });
}

export function secondFactorNeeded(): Refusal {
  const message = "This user has a second factor. Send the code of the authenticator app, or a recovery code.";
  return new Refusal(Reason.SECOND_FACTOR_NEEDED, message);
}

/** secondsOf returns whole seconds for `retry-after`, at least 1. */
function secondsOf(retryAfterMs: number): number {
  return Math.max(1, Math.ceil(retryAfterMs / 1000));
}

/** `guessed` is the kind of credential that failed, where it is known. */
export function tooManyAttempts(retryAfterMs: number, guessed?: CredentialKind): Refusal {
  const seconds = secondsOf(retryAfterMs);
  const message = `Too many attempts. Try again in ${seconds} s.`;
  return new Refusal(Reason.RATE_LIMITED, message, { headers: { "retry-after": String(seconds) }, guessed });
}

/** `guessed` says that the cookie of an unknown session was sent. */
export function sessionEnded(guessed?: "session"): Refusal {
  const message = "You are not signed in, or no longer. Sign in to the dashboard.";
  return new Refusal(Reason.SESSION_ENDED, message, { guessed });
}

export function userSuspended(): Refusal {
  return new Refusal(Reason.ACCOUNT_SUSPENDED, "Your account is suspended. Ask the operator of the gateway.");
}

export function crossSite(): Refusal {
  const message = "A session may be used by the dashboard's own pages only, with the header `x-gateway-session: 1`.";
  return new Refusal(Reason.CROSS_SITE, message);
}

export function linkInvalid(): Refusal {
  const message = "This link is unknown, was used, or has expired. Ask the operator of the gateway for a new one.";
  return new Refusal(Reason.LINK_INVALID, message, { param: "link", guessed: "link" });
}

export function registrationClosed(invitation: boolean): Refusal {
  const who = invitation ? "only who was invited may register" : "nobody may register";
  return new Refusal(Reason.REGISTRATION_CLOSED, `Here ${who}. Ask the operator of the gateway.`);
}

/** `allowed` is the rate of `whose` in words, as "60 requests a minute"; `headers` report what is left of it. */
export function rateLimited(
  allowed: string,
  retryAfterMs: number,
  headers: Readonly<Record<string, string>> = {},
  whose: "the account" | "the API key" = "the account",
): Refusal {
  const seconds = Math.min(60, secondsOf(retryAfterMs));
  const message = `Rate limit reached: ${whose} is allowed ${allowed}. Try again in ${seconds} s.`;
  return new Refusal(Reason.RATE_LIMITED, message, { headers: { ...headers, "retry-after": String(seconds) } });
}

/** tooManyRunning refuses a call of a key that has as many running as it may have: `limit`. Nobody knows when one of them ends. */
export function tooManyRunning(limit: number): Refusal {
  const message = `The API key has ${counted(limit, "call")} running, as many as it may have at a time. Try again when one has ended.`;
  const headers = { "x-gateway-limit": `key-concurrency;limit=${limit};remaining=0`, "retry-after": "1" };
  return new Refusal(Reason.RATE_LIMITED, message, { headers });
}

/** addressNotPermitted refuses a key at an address that it may not be used from. The address is the caller's own. */
export function addressNotPermitted(address: string): Refusal {
  const where = address === "" ? "this address" : `the address ${address}`;
  const message = `This API key may not be used from ${where}. Have the address added to the key, or use another key.`;
  return new Refusal(Reason.ADDRESS_NOT_PERMITTED, message);
}

// The caller's credit.

/** Both amounts have their unit: "0.042 JPY". */
export function insufficientCredit(of: "balance" | "limit", needed: string, available: string): Refusal {
  const [whose, advice] =
    of === "balance"
      ? ["the account's balance", "Recharge the account"]
      : ["the API key's credit limit", "Raise the limit, use another key"];
  const left = `${available} is left of ${whose}`;
  const message = `This call needs at least ${needed} and ${left}. ${advice}, or ask for less.`;
  return new Refusal(Reason.INSUFFICIENT_CREDIT, message, { headers: permanent });
}

/** BudgetWords is a budget that does not cover a call, in words. Amounts have their unit: "12.50 JPY". */
export interface BudgetWords {
  /** name says whose it is, and for what: "the API key's budget of 12.50 JPY for this month". */
  readonly name: string;
  /** available is what is left of it. */
  readonly available: string;
  /** From when on there is more, in RFC 3339; undefined where that is not known. */
  readonly endsAt: string | undefined;
  /** For the header `x-gateway-budget`. */
  readonly header: string;
}

export function budgetExceeded(needed: string, { name, available, endsAt, header }: BudgetWords): Refusal {
  const until = endsAt === undefined ? "" : ` until ${endsAt}`;
  const message = `This call needs at least ${needed} and ${available} is left of ${name}${until}. Wait, ask for less, or have the budget raised.`;
  return new Refusal(Reason.BUDGET_EXCEEDED, message, { headers: { ...permanent, "x-gateway-budget": header } });
}

/** beyondAnyHold refuses a call that may cost more than any call can be held for. Both amounts have their unit. */
export function beyondAnyHold(needed: string, most: string): Refusal {
  const message = `This call may cost ${needed}, and no call can be held more than ${most} for. Ask for less output, or for fewer answers.`;
  return new Refusal(Reason.INSUFFICIENT_CREDIT, message, { headers: permanent });
}

export function modelUnpriced(model: string): Refusal {
  const message =
    `The model \`${model}\` has no price, and this API key pays for its calls beforehand. ` +
    "Use another model, or ask the operator of the gateway for a price " +
    "(`price` of the model, or `unpriced_models`, on the operator's pages or in gateway.yaml).";
  return new Refusal(Reason.MODEL_UNPRICED, message, { param: "model" });
}

/** wayUnpriced refuses a request whose `param` asks for a service tier, speed, region or tool that has no known price. */
export function wayUnpriced(model: string, param: "service_tier" | "speed" | "inference_geo" | "tools"): Refusal {
  const what = {
    service_tier: "this service tier",
    speed: "this speed",
    inference_geo: "a region",
    tools: "web search",
  };
  const message =
    `The model \`${model}\` has no price for ${what[param]}. ` +
    "Ask without it, or ask the operator of the gateway for a price (`price` of the model, on the operator's pages or in gateway.yaml).";
  return new Refusal(Reason.MODEL_UNPRICED, message, { param });
}

/**
 * otherModelUnpriced refuses `tool`, the type of a vendor's tool. Claude Code offers one by itself, and has a setting that leaves it out.
 */
export function otherModelUnpriced(model: string, tool: string): Refusal {
  const setting = tool.startsWith("advisor_") ? " (in Claude Code: set CLAUDE_CODE_DISABLE_ADVISOR_TOOL=1)" : "";
  const message =
    `The model \`${model}\` has no price for \`${tool}\`, a tool by which its vendor calls another model. ` +
    `Leave the tool out${setting}, and call that model yourself.`;
  return new Refusal(Reason.MODEL_UNPRICED, message, { param: "tools" });
}

// The path and the model.

export function unknownPath(method: string, path: string): Refusal {
  const message = `Invalid URL (${method} ${path}): nothing is served there. Check the base address and the path; \`GET /openapi.json\` lists what is.`;
  return new Refusal(Reason.UNKNOWN_PATH, message);
}

/**
 * Status 426 makes clients continue by HTTP at once. The answer names no protocol to upgrade to, because there is none, and closes
 * the connection, because bytes that follow are no HTTP request.
 */
export function responsesSocketNotServed(): Refusal {
  const message = "Responses are not served over a WebSocket. POST the request to this path; `stream` asks for events.";
  return new Refusal(Reason.METHOD_NOT_ALLOWED, message, {
    headers: { connection: "close" },
    codes: [Code.Unimplemented, 426],
  });
}

/** The answer names the version that is served (RFC 6455, 4.2.2). */
export function socketVersionNotServed(): Refusal {
  const message = "WebSockets are served by version 13 of the protocol. Send `Sec-WebSocket-Version: 13`.";
  const headers = { "sec-websocket-version": "13" };
  return new Refusal(Reason.METHOD_NOT_ALLOWED, message, { headers, codes: [Code.Unimplemented, 426] });
}

/** `header` is the one that is missing, or invalid by RFC 6455. */
export function socketHandshakeFaulty(header: string): Refusal {
  return new Refusal(
    Reason.MALFORMED_BODY,
    `The handshake lacks a valid header '${header}'. Use a client of WebSockets.`,
  );
}

export function answerUnderWay(): Refusal {
  return conflict("CONNECTION_BUSY");
}

/** The code is OpenAI's: its clients open another connection. */
export function socketTooOld(): Refusal {
  const message = "A connection lasts for 60 minutes. Open another, and send the whole conversation.";
  return new Refusal(Reason.INVALID_VALUE, message, { openaiCode: "websocket_connection_limit_reached" });
}

export function methodNotAllowed(method: string, allowed: readonly string[]): Refusal {
  const message = `Not allowed to ${method} on this path. Use ${allowed.join(" or ")}.`;
  return new Refusal(Reason.METHOD_NOT_ALLOWED, message, { headers: { allow: allowed.join(", ") } });
}

export function modelNotFound(model: string): Refusal {
  if (model.trim() === "") return modelUnnamed();
  const remedy = "`GET /v1/models` lists those that you may call.";
  const message = `The model \`${model}\` does not exist or you do not have access to it. ${remedy}`;
  return new Refusal(Reason.MODEL_NOT_FOUND, message, { param: "model", vendorMessage: `model: ${model}. ${remedy}` });
}

/** modelUnnamed refuses a name that is empty or blank, in the words that clients look for: often the caller has not set a variable. */
function modelUnnamed(): Refusal {
  const message =
    "The model `` does not exist: its name is empty. Name one in `model`; `GET /v1/models` lists those that you may call.";
  return new Refusal(Reason.MODEL_NOT_FOUND, message, { param: "model", vendorMessage: "model: the name is empty" });
}

/** `name` is the name that the caller sent: it must not learn which model an alias stands for. */
export function modelNotPermitted(name: string | undefined): Refusal {
  const which = name === undefined ? "the default model" : `the model \`${name}\``;
  const message = `This API key is not permitted to use ${which}. Use another model, or have it permitted.`;
  return new Refusal(Reason.MODEL_NOT_PERMITTED, message, { param: "model" });
}

/** The kinds of models in words, and the paths of each. */
const kindWords = {
  chat: "a chat model: call it at /v1/chat/completions, /v1/messages or /v1/responses",
  embedding: "an embedding model: call it at /v1/embeddings",
  speech: "a speech model: call it at /v1/audio/speech",
} as const;

/** modelOfOtherKind refuses an operation that needs another kind of model. */
export function modelOfOtherKind(model: string, kind: keyof typeof kindWords): Refusal {
  const message = `The model \`${model}\` is ${kindWords[kind]}.`;
  const vendorMessage = `model: ${model} is ${kindWords[kind]}`;
  return new Refusal(Reason.MODEL_NOT_FOUND, message, { param: "model", vendorMessage });
}

// Stored responses, keys and other resources.

export function previousResponseNotFound(id: string): Refusal {
  const message = `Previous response with id '${id}' not found.`;
  return new Refusal(Reason.PREVIOUS_RESPONSE_NOT_FOUND, message, { param: "previous_response_id" });
}

export function responseNotFound(id: string): Refusal {
  return new Refusal(Reason.NOT_STORED, `Response with id '${id}' not found.`, { param: "id" });
}

export function responseInputNotKept(id: string): Refusal {
  const message = `The input of the response '${id}' was too large to be kept, and cannot be listed.`;
  return new Refusal(Reason.NOT_STORED, message, { param: "id" });
}

/** responseEventsGone refuses to stream a background response whose events are gone, or were never asked for. */
export function responseEventsGone(id: string, why: string): Refusal {
  const message = `The response '${id}' cannot be streamed: ${why}. Ask for it without \`stream\`.`;
  return new Refusal(Reason.INVALID_VALUE, message, { param: "stream" });
}

/** backgroundTooMany refuses a background response beyond the limit. `whose` says whose limit is reached. */
export function backgroundTooMany(whose: "the gateway" | "the account"): Refusal {
  const message = `The limit of background responses of ${whose} is reached. Wait for some to end, or cancel them.`;
  return new Refusal(Reason.GATEWAY_BUSY, message, { headers: { "retry-after": "5" } });
}

/** backgroundInterrupted ends a background response that was under way when its process stopped. */
export function backgroundInterrupted(): Refusal {
  const message = "The gateway was stopped before the response was complete. Ask for it again.";
  return new Refusal(Reason.GATEWAY_BUSY, message);
}

export function backgroundTooLarge(maxBytes: number): Refusal {
  const message = `The response is larger than the ${maxBytes} bytes that are kept. Ask for less, or for a stream in the foreground.`;
  return new Refusal(Reason.REQUEST_TOO_LARGE, message);
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

/** `kind` is the resource in words, as "key". */
export function resourceNotFound(kind: string, id: string, param = "id"): Refusal {
  const message = `There is no ${kind} '${id}'. Check it.`;
  return new Refusal(Reason.RESOURCE_NOT_FOUND, message, { param });
}

/**
 * sessionKeyNotFound refuses a session that names a key its account does not have. A text that is no id may be a secret, and is not
 * repeated.
 */
export function sessionKeyNotFound(id: string): Refusal {
  const refusal = resourceNotFound("key", id.startsWith("key_") ? id : "…");
  const { message, param } = refusal;
  return new Refusal(Reason.RESOURCE_NOT_FOUND, message, { param, guessed: "session_key" });
}

/** The message does not repeat the code: it may be one letter away from a valid one. */
export function redeemCodeNotFound(): Refusal {
  const message = "This redeem code is unknown or no longer valid. Check it, or ask for another.";
  return new Refusal(Reason.RESOURCE_NOT_FOUND, message, { param: "code", guessed: "redeem_code" });
}

export function idempotencyConflict(): Refusal {
  const message = "This `Idempotency-Key` was used for another request within the last day. Send a new one.";
  return new Refusal(Reason.IDEMPOTENCY_CONFLICT, message, { headers: permanent });
}

/** idempotencyRunning refuses a repetition while another process of the gateway still makes the first call under the key. */
export function idempotencyRunning(): Refusal {
  const message = "The call under this `Idempotency-Key` still runs. Send it again in a moment for its answer.";
  return new Refusal(Reason.IDEMPOTENCY_RUNNING, message, { headers: { "retry-after": "1" } });
}

/** answerNotKept refuses a repetition of a call that was answered and charged, but whose answer is not stored. */
export function answerNotKept(): Refusal {
  const message =
    "The call under this `Idempotency-Key` was answered and charged, and its answer is not kept for a repetition: it was too long, or the " +
    "gateway ended before it was stored. Send a new key to have the call made, and charged, once more.";
  return new Refusal(Reason.IDEMPOTENCY_CONFLICT, message, { headers: permanent });
}

export function notCached(): Refusal {
  const message =
    "There is no answer to this request in the cache, and `Cache-Control: only-if-cached` wants no other.";
  return new Refusal(Reason.NOT_CACHED, message, { headers: { ...permanent, "x-gateway-cache": "miss" } });
}

/** conflict refuses a call for what it conflicts with. `param` is the field at fault, if one is. */
export function conflict(reason: ConflictWord, parameters: Conflict["parameters"] = {}, param?: string): Refusal {
  const found: Conflict = { reason, parameters };
  return new Refusal(Reason.CONFLICT, conflictMessage(found), { headers: permanent, conflict: found, param });
}

// The configuration.

/** maxTold is how many faults and differences a message names; details have more. */
const maxTold = 5;

/** invalidDocument refuses a document with mistakes; `path` is the place of each, and their messages begin with it. */
export function invalidDocument(faults: readonly DocumentFault[]): Refusal {
  const told = faults.slice(0, maxTold).map(faultWords);
  const more = faults.length > maxTold ? ` There are ${faults.length - maxTold} more.` : "";
  const param = faults[0]?.path;
  return new Refusal(Reason.INVALID_VALUE, `The configuration would be wrong: ${told.join("; ")}.${more}`, {
    param,
    documentFaults: faults,
  });
}

function faultWords({ file, line, message }: DocumentFault): string {
  if (file === undefined) return message;
  return line === undefined ? `${file}: ${message}` : `${file}:${line}: ${message}`;
}

/** configurationChanged refuses a change of a version that is not the highest any more. `paths` are what has changed since. */
export function configurationChanged(highest: number, paths: readonly string[]): Refusal {
  const more = paths.length > maxTold ? ` and ${paths.length - maxTold} more` : "";
  const told = paths.length === 0 ? "nothing that differs" : `${paths.slice(0, maxTold).join(", ")}${more}`;
  return conflict("CONFIGURATION_CHANGED", { version: String(highest), paths: told }, "base_version");
}

// The upstream.

/** upstreamAnswered words an error of an upstream that says nothing to callers but its status. */
export function upstreamAnswered(status: number): string {
  return `The upstream of this model answered with status ${status}.`;
}

/** upstreamRefused passes on the upstream's own refusal, verbatim. A `status` that is no error's becomes 502. */
export function upstreamRefused(
  status: number,
  words: Pick<Refusal, "message" | "param"> &
    Partial<Pick<Refusal, "answered" | "vendorMessage" | "openaiCode" | "fault" | "restMs">>,
  upstream: UpstreamError | undefined,
  headers: Readonly<Record<string, string>>,
): Refusal {
  const told = Number.isInteger(status) && status >= 400 && status <= 599 ? status : 502;
  const codes = [codeOfStatus(told), told] as const;
  const { message, ...more } = words;
  return new Refusal(Reason.UPSTREAM_REFUSED, message, { ...more, headers, upstream, codes });
}

/** `why` is in the gateway's own words: for the caller, and for the log where there is no other cause. */
export function upstreamFailed(why: string, cause: unknown = why, upstreamStatus?: number): Refusal {
  const message = `The upstream of this model failed: ${why}. Try again.`;
  return new Refusal(Reason.UPSTREAM_FAILED, message, { cause, fault: why, upstreamStatus });
}

/** brokenOff refuses a call whose upstream ended its answer before it was complete. */
export function brokenOff(): Refusal {
  return upstreamFailed("it broke off its answer");
}

/** faultOfStatus words the fault of an upstream that answered with the status of an error. */
export function faultOfStatus(status: number): string {
  return `it answered with status ${status}`;
}

/** upstreamFailedByStatus refuses a call whose upstream answered with a status that has nothing to say to callers. */
export function upstreamFailedByStatus(status: number): Refusal {
  const why = faultOfStatus(status);
  return upstreamFailed(why, why, status);
}

/**
 * operationUnserved refuses an operation that the server lacks although its profile names it. Where a translation can replace it, that is
 * tried.
 */
export function operationUnserved(operation: string): Refusal {
  const why = `it serves no ${operation}`;
  const hint = "The operator of the gateway must take the operation out of the upstream's profile.";
  const message = `The upstream of this model failed: ${why}. ${hint}`;
  return new Refusal(Reason.UPSTREAM_FAILED, message, { cause: why, fault: why, isUnserved: true, headers: permanent });
}

/**
 * upstreamMisconfigured refuses a call that fails by the gateway's own configuration: a retry would fail alike. `status` is the upstream's.
 */
function upstreamMisconfigured(of: NonNullable<Refusal["misconfigured"]>, cause: string, status: number): Refusal {
  const why = misconfigured[of];
  const message = `The upstream of this model failed: ${why}. The operator of the gateway must mend it.`;
  const fault = `${why}: ${cause}`;
  const more = { cause: fault, fault, misconfigured: of, upstreamStatus: status, headers: permanent };
  return new Refusal(Reason.UPSTREAM_FAILED, message, more);
}

const misconfigured = {
  credential: "it refused the gateway's own credential",
  account: "it refused the gateway's own account",
  model: "it does not have the model that it is configured with",
} as const;

export function upstreamRefusedCredential(status: number): Refusal {
  return upstreamMisconfigured("credential", `status ${status}`, status);
}

/** upstreamRefusedAccount hides that the operator's account at the upstream lacks credit: callers must not take it for their own. */
export function upstreamRefusedAccount(status: number): Refusal {
  return upstreamMisconfigured("account", `credit or quota used up, status ${status}`, status);
}

/** upstreamLacksModel hides the model's name at the upstream, which the caller does not know; the log has it, where it is known. */
export function upstreamLacksModel(status: number, model: string | undefined): Refusal {
  const which = model === undefined ? "" : ` for ${model}`;
  return upstreamMisconfigured("model", `status ${status}${which}`, status);
}

/** upstreamLacksPath refuses a call whose upstream serves nothing at the path that it was asked at: its address is wrong. */
export function upstreamLacksPath(status: number): Refusal {
  const why = "it serves nothing at its configured address";
  const message = `The upstream of this model failed: ${why}. The operator of the gateway must mend it.`;
  const fault = `${why}: status ${status}`;
  const more = { cause: fault, fault, upstreamStatus: status, headers: permanent };
  return new Refusal(Reason.UPSTREAM_FAILED, message, more);
}

/** upstreamResting refuses a call whose model has only targets with an open breaker. */
export function upstreamResting(retryAfterMs: number): Refusal {
  const seconds = secondsOf(retryAfterMs);
  return new Refusal(
    Reason.UPSTREAM_FAILED,
    `The upstream of this model fails at the moment and is left alone. Try again in ${seconds} s.`,
    { cause: resting, fault: resting, headers: { "retry-after": String(seconds) }, codes: [Code.Unavailable, 503] },
  );
}

const resting = "it is left alone";

/** upstreamBusy refuses a call to an upstream whose queue is full. `isCallersBound` says that the caller would have waited no longer. */
export function upstreamBusy(retryAfterMs: number, isCallersBound = false): Refusal {
  const seconds = Math.min(60, secondsOf(retryAfterMs));
  return new Refusal(
    Reason.UPSTREAM_BUSY,
    `The upstream of this model has as many calls as it may have. Try again in ${seconds} s.`,
    { cause: busy, fault: busy, headers: { "retry-after": String(seconds) }, isCallersBound },
  );
}

const busy = "it has as many calls as it may have";

/** `missed` says what was late, as "no connection in 2 s"; `isCallersBound`, whether the time-out was the caller's own. */
export function upstreamTimeout(missed?: string, isCallersBound = false): Refusal {
  const which = missed === undefined ? "" : `: ${missed}`;
  const message = `The upstream of this model did not answer in time${which}. Try again.`;
  return new Refusal(Reason.UPSTREAM_TIMEOUT, message, { cause: missed, fault: missed ?? late, isCallersBound });
}

const late = "it did not answer in time";

// The gateway.

export function cancelled(): Refusal {
  return new Refusal(Reason.CANCELLED, "The caller went away.");
}

/** storageUnavailable refuses a call whose write to the storage has timed out. */
export function storageUnavailable(cause: unknown): Refusal {
  const message = "The gateway cannot write to its storage at the moment. Try again in 1 s.";
  return new Refusal(Reason.STORAGE_UNAVAILABLE, message, { cause, headers: { "retry-after": "1" } });
}

/** spendingUnknown refuses the first limit of a key while another gateway does not answer that may have let calls of the key through. */
export function spendingUnknown(): Refusal {
  const message =
    "Another gateway does not answer, and may have calls of this key: what they cost is not known. Try again in 1 s, or disable the key until then.";
  return new Refusal(Reason.STORAGE_UNAVAILABLE, message, { headers: { "retry-after": "1" } });
}

/** ratesUnavailable refuses a call whose rate cannot be counted. */
export function ratesUnavailable(): Refusal {
  const message = "The gateway cannot count rates at the moment. Try again in 1 s.";
  return new Refusal(Reason.STORAGE_UNAVAILABLE, message, { headers: { "retry-after": "1" } });
}

export function internal(cause: unknown): Refusal {
  return new Refusal(
    Reason.INTERNAL,
    "The gateway had an error while handling this request. Quote the request id when you report it.",
    { cause },
  );
}
