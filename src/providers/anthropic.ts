/**
 * The dialect of Anthropic's Messages API.
 *
 * In a request only `model` is replaced, and `stream` set; sampling settings are left out, and named, where the caller's
 * version of the API has none, and so is thinking that Claude has not signed. `anthropic-version` and `anthropic-beta` go on as the caller sent them. Errors keep the
 * vendor's wording, which clients read: they switch features off by it.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { Family } from "../../gen/modelgateway/v1/access_pb.ts";
import {
  type Refusal,
  upstreamFailed,
  upstreamLacksModel,
  upstreamRefused,
  upstreamRefusedCredential,
  upstreamTimeout,
  wouldBeDropped,
} from "../errors.ts";
import { meterEvents, meterMessage } from "./anthropic-usage.ts";
import { overflowWords } from "./context-overflow.ts";
import { checkOver, commonFields, type Dialect, type Follower, speakOver } from "./dialect.ts";
import type { Operation } from "./operations.ts";
import type { Attempt, Meter, Provider, Speak } from "./provider.ts";
import type { Timeouts } from "./timeouts.ts";
import { provesThinking, withoutUnsigned } from "./unsigned-thinking.ts";
import { createUpstream } from "./upstream.ts";
import { named, parsedBody, refusalOfStatus, retryHeaders, type UpstreamError } from "./upstream-error.ts";

export interface AnthropicOptions {
  /** With the version: `https://api.anthropic.com/v1`. */
  readonly baseUrl: string;
  readonly apiKey: string | undefined;
  readonly timeouts?: Timeouts;
}

export function createAnthropicProvider({ baseUrl, apiKey, timeouts }: AnthropicOptions): Provider {
  const upstream = createUpstream(baseUrl, timeouts);
  const credential: Record<string, string> = apiKey ? { "x-api-key": apiKey } : {};
  const dialect = anthropicDialect(credential);
  const isSigned = (model: string) => provesThinking(model, baseUrl);
  return {
    kind: "anthropic",
    speaks: {
      messages: leavingOut(speakOver(upstream, dialect, "/messages"), isSigned),
      count_tokens: leavingOut(speakOver(upstream, dialect, "/messages/count_tokens"), isSigned),
    },
    check: checkOver(upstream, { ...credential, "anthropic-version": defaultVersion }),
    close: () => upstream.close(),
  };
}

/** The version spoken where the caller names none: callers of other families do not. */
const defaultVersion = "2023-06-01";
/** From this version on the API refuses sampling settings, also at their defaults. */
const firstWithoutSampling = "2026-10-21";
const sampling = ["temperature", "top_p", "top_k"];

/** Leaves out what the vendor would refuse and names it, or refuses it where the caller would rather be refused. */
function leavingOut<O extends Operation>(speak: Speak<O>, isSigned: (model: string) => boolean): Speak<O> {
  return async (attempt) => {
    const { header, model } = attempt;
    const signed = isSigned(model) ? await withoutUnsigned(attempt.request) : { request: attempt.request, dropped: [] };
    const given = signed.request.outline();
    const refused =
      versionOf(header) < firstWithoutSampling ? [] : sampling.filter((key) => (given[key] ?? null) !== null);
    const dropped = [...refused, ...signed.dropped];
    if (dropped.length === 0) return speak(attempt);
    if (header("x-gateway-strict")?.trim().toLowerCase() === "true") throw wouldBeDropped(dropped);
    const left = Object.fromEntries(refused.map((key) => [key, undefined]));
    const request = refused.length === 0 ? signed.request : signed.request.with(left);
    const answer = await speak({ ...attempt, request });
    const further = answer.headers?.["x-gateway-dropped"] ?? [];
    return { ...answer, headers: { ...answer.headers, "x-gateway-dropped": dropped.concat(further).join(", ") } };
  };
}

function anthropicDialect(credential: Record<string, string>): Dialect {
  const common = commonFields(credential);
  return {
    common: { whole: common, stream: common },
    headers({ header }) {
      const beta = header("anthropic-beta");
      return { "anthropic-version": versionOf(header), ...(beta ? { "anthropic-beta": beta } : {}) };
    },
    body: requestBody,
    refusal: refusalOfError,
    errorIn: (json, bytes) => (json.type === "error" ? refusalOfWords(json, bytes) : undefined),
    measure: meterMessage,
    follow: ({ meter }) => followEvents(meter),
  };
}

function versionOf(header: Attempt["header"]): string {
  return header("anthropic-version") ?? defaultVersion;
}

function requestBody({ request, form, model }: Attempt): Buffer {
  const json = request.outline();
  const changes: Record<string, JsonValue | undefined> = {};
  if (json.model !== model) changes.model = model;
  if ((json.stream === true) !== (form === "stream")) changes.stream = form === "stream" || undefined;
  return (Object.keys(changes).length === 0 ? request : request.with(changes)).bytes();
}

function followEvents(meter: Meter): Follower {
  const measure = meterEvents(meter);
  let stopped = false;
  return {
    isEnd: () => false,
    isOver: () => stopped,
    take(frame, json) {
      measure(json);
      stopped = json.type === "message_stop";
      return frame;
    },
    isComplete: () => stopped,
  };
}

/** The status that stands for each of the vendor's error types, where the error itself has none: in a stream. */
const statuses: ReadonlyMap<unknown, number> = new Map([
  ["invalid_request_error", 400],
  ["billing_error", 402],
  ["not_found_error", 404],
  ["conflict_error", 409],
  ["request_too_large", 413],
  ["rate_limit_error", 429],
  ["overloaded_error", 503],
]);

/** The vendor's own status for what others say by 503. */
const overloaded = 529;

function refusalOfError({ status, body, retryAfter, model }: UpstreamError): Refusal {
  const json = parsedBody(body);
  const isWorded = typeof (json?.error as JsonObject | null | undefined)?.type === "string";
  if (!json || !isWorded) return refusalOfStatus(status === overloaded ? 503 : status, retryAfter);
  if (isAboutModel(json)) return upstreamLacksModel(`status ${status}${named(model)}`);
  return refusalOfWords(json, body, status, retryAfter);
}

/** The type tells more than the status: proxies on the way change the status. */
function refusalOfWords(json: JsonObject, body: Buffer, answered?: number, retryAfter?: string): Refusal {
  const { type, message } = (json.error ?? {}) as JsonObject;
  if (type === "authentication_error" || type === "permission_error") {
    return upstreamRefusedCredential(type);
  }
  if (isAboutModel(json)) return upstreamLacksModel(notFound);
  if (type === "timeout_error") return upstreamTimeout();
  if (typeof message !== "string") return upstreamFailed("it answered with an error");
  const status = statuses.get(type) ?? (answered !== undefined && answered < 500 ? answered : 502);
  const fault = status === 502 && answered !== undefined ? `it answered with status ${answered}` : undefined;
  const words = { message, param: undefined, fault, ...overflowWords({ message }) };
  return upstreamRefused(status, words, { family: Family.ANTHROPIC, body }, retryHeaders(status, retryAfter));
}

/** The vendor's words for a model that it does not have: `model: some-name`. */
function isAboutModel(json: JsonObject): boolean {
  const { type, message } = (json.error ?? {}) as JsonObject;
  return type === notFound && typeof message === "string" && /^model:/i.test(message);
}

const notFound = "not_found_error";
