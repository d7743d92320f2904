/**
 * How long an upstream asks to be left alone, in whichever way it says so: by a header, by a member of its error, or
 * in the words of its message.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { ReplyFields } from "../../http1/client/index.ts";
import { isObject } from "../../wire/json.ts";
import { membersOf } from "../usage/count.ts";
import { lowerCased } from "./lower-cased.ts";

/**
 * retryAfterIn returns the delay that the headers of an answer ask for, in seconds; undefined where they ask for none. Azure and OpenAI
 * have it in milliseconds, too, and others say only when a limit that is used up is renewed.
 */
export function retryAfterIn(headers: ReplyFields): number | undefined {
  const ms = numberOf(textOf(headers["retry-after-ms"])) ?? numberOf(textOf(headers["x-ms-retry-after-ms"]));
  if (ms !== undefined) return ms / 1000;
  const after = delayOf(textOf(headers["retry-after"]));
  if (after !== undefined) return after;
  const used = limits.filter((limit) => textOf(headers[`${ofLimits}remaining-${limit}`]) === "0");
  const renewed = used.map((limit) => delayOf(textOf(headers[`${ofLimits}reset-${limit}`])) ?? 0);
  return renewed.length > 0 ? Math.max(...renewed) : undefined;
}

/** ofLimits begins the names of the headers about a vendor's limits; the gateway has such headers of its own. */
const ofLimits = "x-ratelimit-";
const limits = ["requests", "tokens"];

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
    delayOf(headers["retry-after"]) ??
    delayOf(headers[`${ofLimits}reset`]) ??
    delayOf(asked.exec((message ?? "").slice(0, lookedAt))?.[1])
  );
}

/** memberDelay reads the names of several vendors, and Hugging Face's for the time that loading a model takes. */
function memberDelay({ retry_after, retry_after_seconds, retry_after_ms, estimated_time }: JsonObject) {
  const ms = numberOf(retry_after_ms);
  const inMs = ms === undefined ? undefined : ms / 1000;
  return delayOf(retry_after) ?? delayOf(retry_after_seconds) ?? inMs ?? delayOf(estimated_time);
}

/** The characters of a message that are searched. */
const lookedAt = 1000;
const duration = String.raw`(?:\d{1,9}(?:\.\d{1,9})? ?(?:ms|milliseconds?|seconds?|secs?|s|minutes?|mins?|m|hours?|h)\b ?|\d{1,3}[hm](?=\d))+`;
const asked = new RegExp(`(?:try again|retry)(?: your request)?(?: in| after) (?:about )?(${duration})`, "i");

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
  const isText = typeof value === "string" && /^\s*\d{1,15}(?:\.\d{1,9})?\s*$/.test(value);
  const number = isText ? Number(value) : value;
  return typeof number === "number" && number >= 0 && Number.isFinite(number) ? number : undefined;
}

function textOf(field: ReplyFields[string]): string | undefined {
  return typeof field === "string" ? field : undefined;
}

function isRetryInfo(detail: JsonValue): detail is JsonObject {
  return isObject(detail) && typeof detail["@type"] === "string" && detail["@type"].endsWith("google.rpc.RetryInfo");
}
