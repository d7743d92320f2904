/**
 * Allows cross-origin requests from browsers, for the origins that the operator lists and no others.
 *
 * Source: the Fetch standard, "CORS protocol". Credentials are keys in headers, never cookies, so `*` is a safe entry.
 */
import type { IncomingMessage } from "node:http";

export interface Cors {
  /**
   * Adds the headers for the request's origin to the head of its answer. Returns true for a preflight: that head is then the whole
   * answer.
   */
  mark(req: IncomingMessage, head: Record<string, string>): boolean;
}

/** The headers that a script may read, besides the few that it always may. */
const exposed = [
  ...["x-request-id", "request-id", "retry-after", "retry-after-ms", "x-should-retry"],
  ...["requests", "tokens"].flatMap((unit) =>
    ["limit", "remaining", "reset"].map((what) => `x-ratelimit-${what}-${unit}`),
  ),
  ...["requests", "tokens"].flatMap((unit) =>
    ["limit", "remaining", "reset"].map((what) => `anthropic-ratelimit-${unit}-${what}`),
  ),
  ...[
    "x-gateway-cost",
    "x-gateway-usage",
    "x-gateway-credit-remaining",
    "x-gateway-budget",
    "x-gateway-limit",
    "x-gateway-upstream",
    "x-gateway-attempts",
  ],
  ...["x-gateway-model", "x-gateway-cache", "x-gateway-replayed", "x-gateway-original-request-id", "x-gateway-dropped"],
  ...["age", "server-timing", "grpc-status", "grpc-message", "grpc-status-details-bin"],
].join(", ");

const preflightSeconds = "7200";

export function createCors(origins: readonly string[]): Cors {
  const listed = new Set(origins);
  return {
    mark(req, head) {
      const { origin } = req.headers;
      if (origin === undefined || !(listed.has("*") || listed.has(origin))) return false;
      head["access-control-allow-origin"] = origin;
      head.vary = "origin";
      const method = req.headers["access-control-request-method"];
      if (req.method !== "OPTIONS" || method === undefined) {
        head["access-control-expose-headers"] = exposed;
        return false;
      }
      const asked = req.headers["access-control-request-headers"];
      head["access-control-allow-methods"] = method;
      if (asked !== undefined) head["access-control-allow-headers"] = asked;
      head["access-control-max-age"] = preflightSeconds;
      return true;
    },
  };
}
