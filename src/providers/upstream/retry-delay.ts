/**
 * How long an upstream asks to be left alone, in whichever way it says so: by a header, by a member of its error, or
 * in the words of its message.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { ReplyFields } from "../../http1/client/index.ts";
import { isObject } from "../../wire/json.ts";
import { doubleOf } from "../../wire/scan/exact-number.ts";
import { membersOf } from "../usage/count.ts";
import { lowerCased } from "./lower-cased.ts";

/**
 * retryAfterIn returns the delay that the headers of an answer ask for, in seconds; undefined where they ask for none. Azure and OpenAI
 * have it in milliseconds, too, GitHub by a name of its own, and others say only when a limit that is used up is renewed.
 */
export function retryAfterIn(headers: ReplyFields): number | undefined {
  const ms = numberOf(textOf(headers["retry-after-ms"])) ?? numberOf(textOf(headers["x-ms-retry-after-ms"]));
  if (ms !== undefined) return ms / 1000;
  const after = delayNames.map((name) => delayOf(textOf(headers[name]))).find((delay) => delay !== undefined);
  if (after !== undefined) return after;
  const renewed = Object.keys(headers).flatMap((name) => (ofLimits.test(name) ? renewalIn(name, headers) : []));
  return renewed.length > 0 ? Math.max(...renewed) : undefined;
}

/** vendorsLimits begins the names of many vendors' headers about limits; the gateway has such headers of its own. */
const vendorsLimits = "x-ratelimit-";
const delayNames = ["retry-after", "x-retry-after", `${vendorsLimits}retry-after`, `${vendorsLimits}timeremaining`];

/** ofLimits finds the names of headers about limits: `x-ratelimit-…`, `anthropic-ratelimit-…`, the IETF's drafts. */
const ofLimits = /ratelimit|rate-limit/;
const remaining = /(?:^|-)remaining(?=-|$)/;

/**
 * renewalIn returns when the limit of a header is renewed, in seconds, if it is used up. Its two headers differ in one word; the IETF has
 * one.
 */
function renewalIn(name: string, headers: ReplyFields): number[] {
  const value = textOf(headers[name]) ?? "";
  const inOne = /(?:\br|remaining)=(?:0|-\d+)\b.*?(?:\bt|reset)=(\d{1,9})/.exec(value)?.[1];
  if (inOne !== undefined) return [Number(inOne)];
  if (!remaining.test(name) || !(Number(value) <= 0) || value.trim() === "") return [];
  const renewal = textOf(headers[name.replace("remaining", "reset")]);
  return renewal === undefined ? [] : [delayOf(renewal) ?? 0];
}

/**
 * retryDelayIn returns the delay that an error asks for, in seconds; undefined without one. Google has it in the error's details,
 * OpenRouter with the headers of its own upstream.
 */
export function retryDelayIn(error: JsonObject, message: string | undefined): number | undefined {
  const { details, metadata } = error;
  const info = Array.isArray(details) ? details.find(isRetryInfo)?.retryDelay : undefined;
  const beside = membersOf(metadata);
  const headers = lowerCased(membersOf(beside.headers));
  return (
    delayOf(info) ??
    memberDelay(error) ??
    memberDelay(beside) ??
    memberDelay(membersOf(details)) ??
    delayOf(headers["retry-after"]) ??
    delayOf(headers[`${vendorsLimits}reset`]) ??
    delayInWords((message ?? "").slice(0, lookedAt))
  );
}

/** memberDelay reads the names of several vendors, those of ChatGPT's plans, and Hugging Face's for the time that loading a model takes. */
function memberDelay(members: JsonObject): number | undefined {
  const ms = numberOf(members.retry_after_ms) ?? numberOf(members.retryAfterMs);
  const delays = delayMembers.map((name) => delayOf(members[name]));
  return delays.find((delay) => delay !== undefined) ?? (ms === undefined ? undefined : ms / 1000);
}

const delayMembers = [
  ...["retry_after", "retryAfter", "retry_after_seconds", "retryAfterSeconds", "wait_seconds", "resets_in_seconds"],
  ...["reset_at", "resets_at", "resetAt", "estimated_time"],
] as const;

/** The characters of a message that are searched. */
const lookedAt = 1000;
const duration = String.raw`(?:\d{1,9}(?:\.\d{1,9})? ?(?:ms|milliseconds?|seconds?|secs?|s|minutes?|mins?|m|hours?|h)\b ?|\d{1,3}[hm](?=\d))+`;
const asked = new RegExp(
  `(?:(?:try again|retry)(?: your request)?(?: in| after)|(?:please|must) wait(?: for)?|resets? in) (?:about )?(${duration})`,
  "i",
);
const askedAsHeader = /\bretry[-_ ]after["']?[:=] ?["']?(\d{1,6}(?:\.\d{1,9})?)\b(?! ?ms)/i;
const askedInChinese = /(\d{1,6}(?:\.\d{1,3})?) ?(秒|分钟)(?:钟)?(?:之?后|以后)/;

function delayInWords(message: string): number | undefined {
  const delay = delayOf(asked.exec(message)?.[1]) ?? delayOf(askedAsHeader.exec(message)?.[1]);
  if (delay !== undefined) return delay;
  const [, number, unit] = askedInChinese.exec(message) ?? [];
  return number === undefined ? undefined : Number(number) * (unit === "秒" ? 1 : 60);
}

const secondsOfUnit = { ms: 0.001, s: 1, m: 60, h: 3600 } as const;

/** Numbers above this are moments since 1970: in seconds, or where they are a thousand times as much in milliseconds. */
const [firstMoment, firstMomentMs] = [1e9, 1e12];

/** delayOf reads a number of seconds, a duration as `2m59.5s`, a date, or a moment since 1970. */
function delayOf(value: JsonValue | undefined): number | undefined {
  const seconds = numberOf(value);
  if (seconds !== undefined) {
    if (seconds < firstMoment) return seconds;
    return Math.max(0, (seconds < firstMomentMs ? seconds : seconds / 1000) - Date.now() / 1000);
  }
  if (typeof value !== "string" || value.trim() === "") return undefined;
  // Of a field that came twice one is enough, and some vendors quote it.
  const first = /^\s*"?(\d{1,15}(?:\.\d{1,9})?)"?\s*(?:,[\s\d.]*)?$/.exec(value)?.[1];
  if (first !== undefined) return delayOf(Number(first));
  const parts = [...value.matchAll(/(\d+(?:\.\d+)?) ?(ms|milli|[smh])/gi)];
  if (parts.length > 0 && new RegExp(`^${duration}$`, "i").test(value.trim()))
    return parts.reduce((sum, [, number, unit = "s"]) => sum + Number(number) * secondsOf(unit.toLowerCase()), 0);
  const date = /\d{4}/.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, (date - Date.now()) / 1000);
}

function secondsOf(unit: string): number {
  return secondsOfUnit[(unit === "milli" ? "ms" : unit) as keyof typeof secondsOfUnit];
}

/** numberOf reads a number, or one in a text, from 0. */
function numberOf(value: JsonValue | undefined): number | undefined {
  const isText = typeof value === "string" && /^\s*\d{1,15}(?:\.\d{1,20})?\s*$/.test(value);
  const number = isText ? Number(value) : doubleOf(value);
  return number !== undefined && number >= 0 && Number.isFinite(number) ? number : undefined;
}

/** textOf returns a field of an answer, and of one that came several times the first. */
function textOf(field: ReplyFields[string]): string | undefined {
  return Array.isArray(field) ? field[0] : field;
}

function isRetryInfo(detail: JsonValue): detail is JsonObject {
  return isObject(detail) && typeof detail["@type"] === "string" && detail["@type"].endsWith("google.rpc.RetryInfo");
}
