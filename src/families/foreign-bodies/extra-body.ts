/**
 * Members of a request that stand in its `extra_body`. OpenAI's SDK for Python spreads that argument over the body; other SDKs have no such
 * argument, so that their users send it as a member, which strict servers refuse and others ignore. What it holds becomes what Python's
 * would: members of the request, before those beside it. Only Google's own settings stay there, for its API has them in this place.
 * Source: https://ai.google.dev/gemini-api/docs/openai; seen in https://github.com/router-for-me/CLIProxyAPI/issues/4105
 */
import { isObject, type JsonObject, type JsonValue } from "../../wire/json.ts";
import type { Changes } from "../../wire/splice.ts";

/** ofGoogle is the member that stays. */
const ofGoogle = "google";

/** fixed are members by which a call has been chosen already. */
const fixed: ReadonlySet<string> = new Set(["stream"]);

/**
 * spreadKeys returns the keys that the members of a body's `extra_body` have in the body; undefined where nothing is to be moved. The body
 * may be an outline.
 */
export function spreadKeys({ extra_body: extra }: JsonObject): ReadonlySet<string> | undefined {
  if (!isObject(extra)) return undefined;
  const keys = Object.keys(spread(extra).members);
  return keys.length > 0 || isObject(extra.extra_body) ? new Set(keys) : undefined;
}

/** inOneBody returns the changes that spread them over the body. */
export function inOneBody({ extra_body: extra }: JsonObject): Changes {
  if (!isObject(extra)) return {};
  const { members, google } = spread(extra);
  return { ...members, extra_body: google === undefined ? undefined : { [ofGoogle]: google } };
}

interface Spread {
  readonly members: Record<string, JsonValue>;
  readonly google: JsonValue | undefined;
}

/** spread also opens an `extra_body` in the other: what Python spreads is documented as two of them for Google's API. */
function spread({ extra_body: inner, ...extra }: JsonObject): Spread {
  const { [ofGoogle]: google, ...own } = extra;
  const deeper = isObject(inner) ? spread(inner) : undefined;
  const entries = Object.entries({ ...deeper?.members, ...own }).filter(([key]) => !fixed.has(key));
  return { members: Object.fromEntries(entries), google: google ?? deeper?.google };
}
