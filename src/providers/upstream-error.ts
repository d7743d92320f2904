/**
 * An upstream's error answer → the refusal that the caller gets.
 *
 * The caller's own mistakes (4xx) and a busy upstream (429, 503) are passed on in the upstream's words. 401 and 403
 * are the gateway's own credential failing, which is no fault of the caller's: 502. Nor is it that the upstream has no
 * model of the name that the gateway is configured with: 502. Other 5xx are 502, or 504 where time ran out. An error
 * that comes with status 200, as those inside streams do, has the status that its words mean.
 */
import type { JsonObject } from "@bufbuild/protobuf";
import { Family } from "../../gen/modelgateway/v1/access_pb.ts";
import {
  type Refusal,
  upstreamFailed,
  upstreamLacksModel,
  upstreamRefused,
  upstreamRefusedCredential,
  upstreamTimeout,
} from "../errors.ts";
import { overflowWords } from "./context-overflow.ts";

export interface UpstreamError {
  readonly status: number;
  readonly body: Buffer;
  /** The header `retry-after`, as it came. */
  readonly retryAfter: string | undefined;
  /** The model's name at the upstream, where it is known. */
  readonly model?: string;
  /** Whether the status is what its words mean, and not what it came with. */
  readonly isMeant?: boolean;
}

/** Returns the refusal for an error answer of the OpenAI family. */
export function refusalOfAnswer({ status, body, retryAfter, model, isMeant }: UpstreamError): Refusal {
  const json = parsedBody(body);
  if (isAboutModel(status, json)) return upstreamLacksModel(`status ${status}${named(model)}`);
  const words = errorWords(json);
  if (!words || status === 401 || status === 403 || isLate(status)) return refusalOfStatus(status, retryAfter);
  const told = isCallers(status) ? status : 502;
  const fault = told === status || isMeant ? undefined : `it answered with status ${status}`;
  return upstreamRefused(told, { ...words, fault }, { family: Family.OPENAI, body }, retryHeaders(status, retryAfter));
}

/** Returns the refusal for an error answer of which only the status is understood: a proxy's on the way, say. */
export function refusalOfStatus(status: number, retryAfter: string | undefined): Refusal {
  if (status === 401 || status === 403) return upstreamRefusedCredential(`status ${status}`);
  if (isLate(status)) return upstreamTimeout();
  if (!isCallers(status)) return upstreamFailed(`it answered with status ${status}`);
  const message = `The upstream of this model answered with status ${status}.`;
  return upstreamRefused(status, { message, param: undefined }, undefined, retryHeaders(status, retryAfter));
}

function isLate(status: number): boolean {
  return status === 408 || status === 504;
}

function isCallers(status: number): boolean {
  return (status >= 400 && status < 500) || status === 503;
}

/** Returns the refusal for an error of the OpenAI family in the place of an answer. */
export function refusalOfErrorIn(json: JsonObject, body: Buffer): Refusal {
  if (!errorWords(json)) return upstreamFailed("it answered with an error");
  const status = statusMeant(json.error as JsonObject);
  return refusalOfAnswer({ status, body, retryAfter: undefined, isMeant: true });
}

/** Names the model at fault in the log: it is the operator's own word. */
export function named(model: string | undefined): string {
  return model === undefined ? "" : ` for ${model}`;
}

/** Whether it says that there is no such model: by OpenAI's code, or a 404 by its param or, from some, its message only. */
function isAboutModel(status: number, json: JsonObject | undefined): boolean {
  const { code, param, message } = (json?.error ?? {}) as JsonObject;
  if (code === "model_not_found") return true;
  return status === 404 && (param === "model" || (typeof message === "string" && saysNoModel(message)));
}

/** The first name of a model is looked for, and what is said behind it: to begin anew at each takes the square of their number. */
function saysNoModel(message: string): boolean {
  const at = message.search(/\bmodel\b/i);
  return at !== -1 && /\bnot (?:found|exist)/i.test(message.slice(at));
}

/** What the codes and types of the OpenAI family mean, its own and those of servers like it. */
const meanings: ReadonlyMap<string, number> = new Map([
  ["invalid_request_error", 400],
  ["context_length_exceeded", 400],
  ["content_policy_violation", 400],
  ["authentication_error", 401],
  ["invalid_api_key", 401],
  ["billing_error", 402],
  ["permission_error", 403],
  ["insufficient_permissions", 403],
  ["not_found_error", 404],
  ["model_not_found", 404],
  ["request_too_large", 413],
  ["rate_limit_error", 429],
  ["rate_limit_exceeded", 429],
  ["insufficient_quota", 429],
  ["requests", 429],
  ["tokens", 429],
  ["overloaded", 503],
  ["overloaded_error", 503],
  ["service_unavailable", 503],
  ["service_unavailable_error", 503],
  ["timeout", 504],
  ["timeout_error", 504],
]);

/** The code tells more than the type. Either may be a status itself, as a number or a text. */
function statusMeant({ code, status, type }: JsonObject): number {
  for (const word of [code, status, type]) {
    if (typeof word !== "string" && typeof word !== "number") continue;
    const text = `${word}`.toLowerCase();
    if (/^[45]\d\d$/.test(text)) return Number(text);
    const meant = meanings.get(text);
    if (meant !== undefined) return meant;
  }
  return 500;
}

/**
 * Returns the hint when to come back, in seconds from 1 to 60: some clients take no longer one, and others would sleep
 * for days.
 */
export function retryHeaders(status: number, retryAfter: string | undefined): Record<string, string> {
  const asSeconds = Number(retryAfter ?? Number.NaN);
  const asDate = (Date.parse(retryAfter ?? "") - Date.now()) / 1000;
  const seconds = Number.isNaN(asSeconds) ? asDate : asSeconds;
  if (!Number.isNaN(seconds)) return { "retry-after": `${Math.min(60, Math.max(1, Math.ceil(seconds)))}` };
  return status === 429 || status === 503 ? { "retry-after": "1" } : {};
}

/** Returns what an error body says, or undefined where it has not the family's shape. */
function errorWords(json: JsonObject | undefined) {
  const error = json?.error as JsonObject | null | undefined;
  if (typeof error?.message !== "string") return undefined;
  const { message, param, code, type } = error;
  return {
    message,
    param: typeof param === "string" ? param : undefined,
    ...overflowWords({ message, code, type }),
  };
}

/** Returns an error body as JSON, or undefined where it is none. */
export function parsedBody(body: Buffer): JsonObject | undefined {
  try {
    return JSON.parse(body.toString()) as JsonObject;
  } catch {
    return undefined; // An error page of a proxy on the way, say.
  }
}
