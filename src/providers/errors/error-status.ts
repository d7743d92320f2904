/**
 * Tells which status an upstream's error means, by its own, its codes and its words. The tables are the vendors' own words.
 */
import type { ErrorFields } from "./error-fields.ts";
import { isThrottled, lookedAt, moderated, plainCode, serversOfTools, unfetched, wordsOf } from "./error-words.ts";
import { withoutQuotations } from "./quotations.ts";

/** The statuses of the codes and types of both families, and of servers like them, for errors without a status. */
const statuses: ReadonlyMap<string, number> = new Map([
  ...["invalid_request_error", "context_length_exceeded", "content_policy_violation", "badrequesterror"].map(as(400)),
  ...["invalid_argument", "failed_precondition", "out_of_range", "validationexception", "value_error"].map(as(400)),
  ...["exceed_context_size_error", "prompt_too_long", "content_filter"].map(as(400)),
  // Of a failed response.
  ...["invalid_prompt", "invalid_image", "invalid_image_format", "invalid_base64_image", "invalid_image_url"].map(
    as(400),
  ),
  ...["image_too_large", "image_too_small", "image_parse_error", "image_content_policy_violation"].map(as(400)),
  ...["invalid_image_mode", "image_file_too_large", "unsupported_image_media_type", "empty_image_file"].map(as(400)),
  ...["failed_to_download_image", "image_file_not_found", "invalid_encrypted_content"].map(as(400)),
  ...["authentication_error", "invalid_api_key", "unauthenticated", "invalid_authentication_error"].map(as(401)),
  ...["billing_error", "insufficient_quota", "exceeded_current_quota_error"].map(as(402)),
  ...["permission_error", "insufficient_permissions", "permission_denied", "accessdeniedexception"].map(as(403)),
  ...["not_found_error", "model_not_found", "not_found", "notfounderror", "resource_not_found_error"].map(as(404)),
  ...["resourcenotfoundexception"].map(as(404)),
  ...["conflict_error", "aborted", "conflictexception"].map(as(409)),
  ...["request_too_large"].map(as(413)),
  ...["validation", "extra_forbidden"].map(as(422)),
  ...["rate_limit_error", "rate_limit_exceeded", "requests", "tokens", "resource_exhausted", "ratelimiterror"].map(
    as(429),
  ),
  ...["rate_limited", "rate_limit_reached_error", "throttlingexception", "ratelimitreached"].map(as(429)),
  // AWS: a quota is the operator's, whatever the status says.
  ...["modelnotreadyexception", "servicequotaexceededexception"].map(as(429)),
  ...["overloaded", "overloaded_error", "service_unavailable", "service_unavailable_error", "unavailable"].map(as(503)),
  ...["unavailable_error", "engine_overloaded_error", "serviceunavailableexception"].map(as(503)),
  ...["timeout", "timeout_error", "deadline_exceeded", "vector_store_timeout"].map(as(504)),
  // MiniMax
  ...["2064"].map(as(503)),
  ...["1004", "2049"].map(as(401)),
  ...["1008"].map(as(402)),
  ...["1002", "1039", "1041", "2045", "2056"].map(as(429)),
  ...["1026", "1027", "1042", "2013"].map(as(400)),
  // Z.ai
  ...["1301"].map(as(400)),
  ...["1302", "1303", "1304", "1308", "1310"].map(as(429)),
  ...["1305", "1312"].map(as(503)),
]);

/**
 * exactStatus returns the status that an error answer means: its own, unless its codes say that there is too much to do, or its codes or
 * words that the server failed. Proxies, and some vendors, say so with a status for something else. A 400 of theirs would pass for the
 * caller's mistake: no other target would be tried.
 */
export function exactStatus(answered: number, words: ErrorFields): number {
  const meant = statusMeant(words);
  if (meant === 429 && (answered === 400 || answered === 403 || answered >= 500)) return meant;
  if ((meant === 503 || meant === 504) && (answered === 500 || answered === 502)) return meant;
  if (answered === 403 && saysRefilled.test((words.message ?? "").slice(0, lookedAt))) return 429;
  if (answered !== 400) return answered;
  return meant !== undefined && meant >= 500 ? meant : (transientStatus(words) ?? answered);
}

/**
 * toldStatus returns the status that an error means which came in place of an answer, or within one; undefined where neither its codes nor
 * its words tell.
 */
export function toldStatus(words: ErrorFields): number | undefined {
  const meant = statusMeant(words);
  return meant === undefined || meant === 400 ? (transientStatus(words) ?? meant) : meant;
}

/** saysRefilled finds Azure API Management's messages of a quota that is used up, which have the status of a wrong key. */
const saysRefilled = /\bquota (?:is exceeded\. try again in|will be replenished in)\b/i;

/**
 * isFailedGeneration reports that the model wrote what its server could not read: Groq's calls and JSON, Cerebras' answers that break off.
 * Another try, or another model, may do better, as with a stream that ends so.
 *
 * Sources: https://github.com/pydantic/pydantic-ai/pull/4354, https://github.com/drnic/groq-ruby/issues/12
 */
function isFailedGeneration({ error, codes }: ErrorFields): boolean {
  return error.failed_generation !== undefined || codes.some((code) => failedGenerations.has(plainCode(code)));
}

const failedGenerations: ReadonlySet<string> = new Set([
  ...["tool_use_failed", "json_validate_failed", "output_parse_failed", "incomplete_generation"],
]);

/**
 * transient finds messages that say of themselves that the server fails for a while: Alibaba's, Databricks', Vercel's, those of Cloudflare's
 * gateway, and of relays.
 *
 * Sources: https://github.com/cloudflare/ai/issues/436, https://github.com/router-for-me/CLIProxyAPI/pull/2699,
 * https://github.com/ding113/claude-code-hub/pull/1345
 */
const transient = wordsOf(
  "(?:try|retry)(?: your request| it)?(?: again)? (?:later|soon|shortly)\\b",
  "temporarily (?:unavailable|overloaded|exceeded|out of capacity|unable)|(?:high|excessive) (?:load|demand)\\b",
  "(?:server|service|system|engine|model|endpoint|deployment|provider|upstream)s? (?:is |are )?(?:currently |temporarily |still )?(?:overloaded|busy|not ready|at (?:full )?capacity|warming up|starting(?: up)?|scaling(?: up)?)\\b",
  "model serving error|(?:failed|unable) to get (?:a )?response from (?:the )?(?:provider|upstream)",
  "no (?:available )?(?:providers|workers|instances|upstreams)(?: are)?(?: currently)? available\\b|disk storage creation failed",
  "稍后再试|稍后重试|暂时无法使用|(?:服务|系统)(?:器)?(?:繁忙|异常)",
);
const limiting = wordsOf(
  "rate limit (?:is |was |has been )?(?:exceeded|reached)|too many (?:concurrent )?requests\\b",
  "请求过于频繁|访问过于频繁",
);

/** transientStatus returns the status of a server that says that it fails for a while, or has reached a limit; undefined for any other error. */
function transientStatus({ message = "" }: ErrorFields): 429 | 503 | undefined {
  const words = withoutQuotations(message.slice(0, lookedAt));
  if (moderated.test(words) || unfetched.test(words) || serversOfTools.test(words)) return undefined;
  if (limiting.test(words)) return 429;
  return transient.test(words) ? 503 : undefined;
}

/** wordStatuses has the statuses of names that vendors make up of the same few words, without what separates these. */
const wordStatuses: readonly (readonly [words: RegExp, status: number])[] = [
  [/^authfailure/, 401],
  [/ratelimit|ratequota|quotaviolation|throttl|toomanyrequests|requestlimitexceeded/, 429],
  [/overload|unavailable|outofcapacity/, 503],
  [/datainspection|contentfilter|contentpolicy|sensitivecontent|contentdetected/, 400],
  [/invalidrequest|invalidparam|invalidarg|badrequest/, 400],
  [/timeout|timedout|deadlineexceeded/, 504],
];

function as(status: number): (word: string) => readonly [string, number] {
  return (word) => [word, status];
}

/** statusMeant returns the status that an error's codes mean: a status as a number or string, or a known word; undefined without one. */
function statusMeant(words: ErrorFields): number | undefined {
  if (isFailedGeneration(words)) return 502;
  if (isThrottled(words)) return 429;
  for (const code of words.codes) {
    const word = plainCode(code);
    const status = /^[45]\d\d$/.test(word) ? Number(word) : (statuses.get(word) ?? statusInWord(word));
    if (status !== undefined) return status;
  }
  return undefined;
}

function statusInWord(word: string): number | undefined {
  const letters = word.slice(0, longestWord).replaceAll(/[^a-z]/g, "");
  return wordStatuses.find(([words]) => words.test(letters))?.[1];
}

/** longestWord is the most characters of a name that are looked at. */
const longestWord = 100;
