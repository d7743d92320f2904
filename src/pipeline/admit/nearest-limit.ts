/**
 * The header `x-gateway-limit`: the limit of a call that is nearest to its end, of those of the account and those of the key. It is an
 * item of structured fields (RFC 9651): `key-requests;limit=60;remaining=3;reset=12`, the last in seconds until it is full again.
 */
import type { AnswerHeaders } from "../../call/call.ts";
import type { NearestLimit } from "../../call/key-limits.ts";
import type { Decision } from "../../limits/limiter.ts";

const limitHeader = "x-gateway-limit";

/** LimitName are the names of limits. Those of a model name the key's entry in the parameter `model`. */
export type LimitName =
  | "account-requests"
  | "account-tokens"
  | "key-requests"
  | "key-tokens"
  | "model-requests"
  | "model-tokens";

export interface NamedDecision {
  readonly name: LimitName;
  readonly decision: Decision;
  /** The key's entry, of a model's limit. */
  readonly model?: string;
}

export function nearestOf({ name, decision, model }: NamedDecision): NearestLimit {
  const { limit, remaining, resetMs } = decision;
  const of = model === undefined ? "" : `;model=${quoted(model)}`;
  const header = `${name};limit=${limit};remaining=${remaining};reset=${Math.ceil(resetMs / 1000)}${of}`;
  return { share: decision.allowed ? remaining / limit : 0, header };
}

/** nearer returns the nearer of two limits, the first where they are equally near. */
export function nearer(one: NearestLimit | undefined, other: NearestLimit | undefined): NearestLimit | undefined {
  if (!one || !other) return one ?? other;
  return other.share < one.share ? other : one;
}

export function nearestHeader(nearest: NearestLimit | undefined): AnswerHeaders {
  return nearest ? { [limitHeader]: nearest.header } : {};
}

/** A string of structured fields has ASCII only; what is not is written as in a URL. */
function quoted(text: string): string {
  const ascii = /^[\x20-\x7e]*$/.test(text) ? text : encodeURI(text);
  return `"${ascii.replace(/["\\]/g, "\\$&")}"`;
}
