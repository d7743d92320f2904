/**
 * The headers that report a caller's rate limits and credit, in the names of its API family.
 */
import { Family } from "../../../gen/modelgateway/v1/access_pb.ts";
import type { AnswerHeaders } from "../../call/call.ts";
import type { Decision } from "../../limits/limiter.ts";
import { formatDecimal } from "../../runtime/decimal.ts";
import { dayMs } from "../../runtime/time/durations.ts";

/** Available is what a caller has left. */
export interface Available {
  readonly requests: Decision;
  /** tokens is undefined where the tier does not limit tokens. */
  readonly tokens: Decision | undefined;
  /** creditRemaining is in millionths of the unit; undefined where nothing limits it. */
  readonly creditRemaining: number | undefined;
}

/**
 * rateHeaders returns the headers that report what is left of a rate. `now` is in milliseconds since 1970. Only Anthropic's headers use it.
 */
export function rateHeaders(family: Family, available: Available, now: number): AnswerHeaders {
  const { creditRemaining } = available;
  const headers = family === Family.ANTHROPIC ? anthropicHeaders(available, now) : openaiHeaders(available);
  if (creditRemaining !== undefined) headers["x-gateway-credit-remaining"] = formatDecimal(creditRemaining);
  return headers;
}

function anthropicHeaders({ requests, tokens }: Available, now: number): Record<string, string> {
  const headers: Record<string, string> = {
    "anthropic-ratelimit-requests-limit": String(requests.limit),
    "anthropic-ratelimit-requests-remaining": String(requests.remaining),
    "anthropic-ratelimit-requests-reset": moment(now + requests.resetMs),
  };
  if (!tokens) return headers;
  headers["anthropic-ratelimit-tokens-limit"] = String(tokens.limit);
  headers["anthropic-ratelimit-tokens-remaining"] = String(tokens.remaining);
  headers["anthropic-ratelimit-tokens-reset"] = moment(now + tokens.resetMs);
  return headers;
}

function openaiHeaders({ requests, tokens }: Available): Record<string, string> {
  const headers: Record<string, string> = {
    "x-ratelimit-limit-requests": String(requests.limit),
    "x-ratelimit-remaining-requests": String(requests.remaining),
    "x-ratelimit-reset-requests": duration(requests.resetMs),
  };
  if (!tokens) return headers;
  headers["x-ratelimit-limit-tokens"] = String(tokens.limit);
  headers["x-ratelimit-remaining-tokens"] = String(tokens.remaining);
  headers["x-ratelimit-reset-tokens"] = duration(tokens.resetMs);
  return headers;
}

/** The last day that was formatted, in days since 1970. `Date` takes a microsecond, and most moments are on one day. */
let day = 0;
let dayText = "1970-01-01";
const twoDigits = Array.from({ length: 60 }, (_, number) => String(number).padStart(2, "0"));

/** moment formats a moment by RFC 3339, to the second as Anthropic does, and rounded up. */
function moment(ms: number): string {
  const seconds = Math.ceil(ms / 1_000);
  const today = Math.floor(seconds / 86_400);
  if (today !== day) {
    dayText = new Date(today * dayMs).toISOString().slice(0, 10);
    day = today;
  }
  const hour = twoDigits[Math.floor(seconds / 3_600) % 24];
  return `${dayText}T${hour}:${twoDigits[Math.floor(seconds / 60) % 60]}:${twoDigits[seconds % 60]}Z`;
}

/** Thousandths with their decimal point and without trailing zeros. */
const thousandths = Array.from({ length: 1_000 }, (_, number) => String(number / 1_000).slice(1));

/** Formats whole milliseconds as Go formats a Duration: `0s`, `12ms`, `1.5s`, `6m0s`, `1h0m0s`. */
function duration(ms: number): string {
  if (ms > 0 && ms < 1_000) return `${ms}ms`;
  const minutes = Math.floor(ms / 60_000);
  const rest = ms - minutes * 60_000;
  const whole = Math.floor(rest / 1_000);
  const seconds = `${whole}${thousandths[rest - whole * 1_000]}s`;
  if (minutes === 0) return seconds;
  return minutes < 60 ? `${minutes}m${seconds}` : `${Math.floor(minutes / 60)}h${minutes % 60}m${seconds}`;
}
