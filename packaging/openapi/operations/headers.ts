/** The headers of requests and answers. A test holds them against the tables of docs/api.md. */
import type { JsonSchema } from "../schemas/json-schema.ts";

export interface Header {
  readonly description: string;
  readonly schema: JsonSchema;
  readonly example?: string | number;
}

const text: JsonSchema = { type: "string" };
const count: JsonSchema = { type: "integer", minimum: 0 };
const amount: JsonSchema = { type: "string", pattern: "^\\d+\\.\\d{2,6}$" };

/** Headers of requests to every path with a body. */
export const bodyHeaders: Readonly<Record<string, Header>> = {
  "content-encoding": {
    description: "The codings of the body, in the order in which they were applied: `gzip`, `deflate`, `br`, `zstd`.",
    schema: text,
  },
};

/** Headers of requests that make something: a model call or a key. */
export const repeatHeaders: Readonly<Record<string, Header>> = {
  "idempotency-key": {
    description:
      "Makes the call safe to repeat: within a day the same request under the same key gets the same answer, at no cost.",
    schema: { type: "string", minLength: 1, maxLength: 255, pattern: "^[\\x20-\\x7e]+$" },
  },
};

/** Headers of requests that a model answers. */
export const modelHeaders: Readonly<Record<string, Header>> = {
  ...repeatHeaders,
  "x-gateway-timeout": {
    description:
      "How long the caller waits, in seconds: `30` in all, or `total=30, connect=2, first_byte=10, idle=5`. It can only shorten the gateway's own time-outs.",
    schema: text,
  },
  "x-gateway-strict": {
    description: "`true` refuses a request that cannot be translated completely for the model's upstream.",
    schema: { type: "string", enum: ["true", "false"], default: "false" },
  },
  "cache-control": {
    description: "How the cache may be used: `no-store`, `no-cache`, `max-age=60`, `only-if-cached`.",
    schema: text,
  },
};

/** Headers of every request. */
export const everyRequest: Readonly<Record<string, Header>> = {
  traceparent: { description: "W3C trace context: the trace that the call continues.", schema: text },
  tracestate: { description: "W3C trace context: what tracing systems add to it.", schema: text },
};

/** The header that selects Anthropic's format where a path serves both. */
export const versionHeaders: Readonly<Record<string, Header>> = {
  "anthropic-version": {
    description: "The version of Anthropic's API. Where a path serves both families it selects Anthropic's format.",
    schema: text,
  },
};

/** Headers of every answer. */
export const everyAnswer: Readonly<Record<string, Header>> = {
  "x-request-id": { description: "Identifies the call in logs, usage and traces.", schema: text },
  "request-id": { description: "The same, under the name that Anthropic's clients read.", schema: text },
};

/** Headers of the answers to a key's calls, by the format of the answer. */
export const rateHeaders: Readonly<Record<"openai" | "anthropic", Readonly<Record<string, Header>>>> = {
  openai: rates((what, unit) => `x-ratelimit-${what}-${unit}`, "how long until the rate is whole again, as `1s`"),
  anthropic: rates((what, unit) => `anthropic-ratelimit-${unit}-${what}`, "when the rate is whole again, as RFC 3339"),
};

function rates(nameOf: (what: string, unit: string) => string, reset: string): Record<string, Header> {
  const nearest = {
    description:
      "Of a key with limits of its own: the limit of which the least is left, as `key-requests;limit=60;remaining=3;reset=12`.",
    schema: text,
  };
  const entries = (["requests", "tokens"] as const).flatMap((unit) => {
    const where = unit === "tokens" ? " Sent where the tier or the key bounds tokens." : "";
    const whose = `The ${unit} a minute of the account, or of the key where less is left of those.`;
    return [
      [nameOf("limit", unit), { description: `${whose}${where}`, schema: count }],
      [nameOf("remaining", unit), { description: `The ${unit} that are left of them.${where}`, schema: count }],
      [nameOf("reset", unit), { description: `In ${unit}: ${reset}.${where}`, schema: text }],
    ] as const;
  });
  return Object.fromEntries([...entries, ["x-gateway-limit", nearest]]);
}

/** Headers of the answers of models. On a stream those marked as trailers come after it. */
export const modelAnswer: Readonly<Record<string, Header>> = {
  "x-gateway-model": { description: "The model that answered, or that refused last.", schema: text },
  "x-gateway-upstream": { description: "The upstream that answered, or that refused last.", schema: text },
  "x-gateway-attempts": { description: "How many attempts were made.", schema: { type: "integer", minimum: 1 } },
  "x-gateway-cost": { description: "What the call cost, in units. A trailer on a stream.", schema: amount },
  "x-gateway-usage": {
    description: "What the call used, as `input=9, output=28`. A trailer on a stream.",
    schema: text,
  },
  "x-gateway-credit-remaining": {
    description: "What the account could spend before the call, in units. Absent where nothing bounds it.",
    schema: { type: "string", pattern: "^-?\\d+\\.\\d{2,6}$" },
  },
  "x-gateway-budget": {
    description:
      'The budget that the call leaves least of: whose, its window, and what is left, as `key-month;limit="20.00";remaining="12.50";reset=86400`. Absent where neither the key nor its account has budgets. On a stream it comes again as a trailer.',
    schema: text,
  },
  "x-gateway-dropped": {
    description: "The paths of the request that were left out in translation, separated by commas.",
    schema: text,
  },
  "x-gateway-cache": {
    description: "Whether the answer is from the cache. Sent where answers are cached.",
    schema: { type: "string", enum: ["hit", "miss"] },
  },
  age: { description: "The age of an answer from the cache, in seconds.", schema: count },
  "server-timing": {
    description: "Where the time went before the answer began: `queue`, `upstream`, `gateway`, in milliseconds.",
    schema: text,
  },
};

/** Headers of the answers to calls under an idempotency key. */
export const repeatAnswer: Readonly<Record<string, Header>> = {
  "x-gateway-replayed": {
    description: "`true` where the answer is a replay.",
    schema: { type: "string", enum: ["true"] },
  },
  "x-gateway-original-request-id": { description: "Names the original call of a replay.", schema: text },
};

/** Headers of refusals, by their statuses. */
export const refusalHeaders: Readonly<
  Record<string, { readonly statuses: readonly number[]; readonly header: Header }>
> = {
  "retry-after": {
    statuses: [409, 429, 503, 529],
    header: { description: "When to come back, in seconds.", schema: { type: "integer", minimum: 1 } },
  },
  "x-should-retry": {
    statuses: [401, 402, 409, 502, 504],
    header: {
      description:
        "`false` where the same request would be refused again, and some client would repeat it by its status.",
      schema: { type: "string", enum: ["false"] },
    },
  },
  "www-authenticate": {
    statuses: [401],
    header: { description: "The scheme of the credential: `Bearer`.", schema: text },
  },
  "accept-encoding": {
    statuses: [415],
    header: { description: "The codings of bodies that are read.", schema: text },
  },
};
