/**
 * Tells what an upstream's error means for the caller, by its status, codes and message. The tables are the vendors'
 * own words.
 *
 * Only the beginning of a message is read, and no quotations: they may repeat what the caller wrote, which must not
 * pass for the upstream's word on the gateway's own account.
 */
import type { ErrorFields } from "./error-fields.ts";
import { withoutQuotations } from "./quotations.ts";

/** Meaning is the cause of an error, where its status alone does not tell. */
export type Meaning = "credit" | "credential" | "model" | "late";

/** The gateway's account with the upstream has no credit left. */
const creditCodes: ReadonlySet<string> = new Set([
  ...["insufficient_quota", "insufficient_balance", "insufficient_credits", "insufficient_funds", "billing_error"],
  ...["billing_hard_limit_reached", "billing_not_active", "payment_required", "insufficient_user_quota"],
  "exceeded_current_quota_error", // Moonshot
  ...["1113", "1309"], // Z.ai
  ...["arrearage", "allocationquota.freetieronly"], // Alibaba
  "accountoverdueerror", // Volcengine
  "not_enough_balance", // Novita
  // Anthropic: `details.error_code`.
  ...["contract_spend_limit_reached", "enforced_spend_limit_reached"],
  ...["linked_organization_billing_unavailable", "linked_organization_spend_limit_reached"],
]);

const creditWords = wordsOf(
  "insufficient[ _](?:account |user )?(?:balance|credits?|funds|quota)",
  "(?:credit |account )?balance is (?:too low|insufficient|not enough)",
  "(?:used|exhausted|spent) all (?:of )?(?:your |its |the )?(?:available |prepaid |monthly )?credits",
  "credits (?:are|have been) (?:depleted|exhausted|used up)",
  "exceeded your monthly included credits",
  "requires more credits|not enough (?:balance|credits?|funds|quota)|enable billing\\b",
  "monthly spending limit|spend(?:ing)? limit (?:has been )?(?:reached|exceeded)|reached your specified api usage limits",
  "arrearage|account is (?:in arrears|overdue)|account is in good standing",
  "please recharge|please top[ -]up|please add (?:more )?credits|please check your billing",
  "余额不足|欠费|额度不足|额度已用",
);

const credentialCodes: ReadonlySet<string> = new Set([
  ...["authentication_error", "permission_error", "invalid_api_key", "api_key_invalid", "insufficient_permissions"],
  ...["invalid_authentication_error", "unauthenticated", "permission_denied", "authenticationerror", "unauthorized"],
  ...[
    "organization_restricted",
    "organization_disabled",
    "account_deactivated",
    "account_suspended",
    "access_terminated",
  ],
  ...["unrecognizedclientexception", "expiredtokenexception", "invalidsignatureexception"], // AWS
  ...["missingauthenticationtokenexception", "incompletesignatureexception", "accessdeniedexception"],
  // Anthropic: `details.error_code`.
  ...["organization_on_hold", "claude_code_key_creator_not_member", "cmek_key_disabled", "cmek_key_network_blocked"],
]);

const credentialWords = wordsOf(
  "api[ _-]?key (?:is |was |has been )?(?:not valid|invalid|not found|expired|missing|required|disabled|revoked|inactive|blocked|suspended)",
  "(?:organization|account|team|project) (?:is |was |has been )(?:restricted|disabled|deactivated|suspended|terminated|banned|locked|archived)",
  "(?:incorrect|invalid|missing|no|wrong) (?:x-)?api[ _-]?key",
  "(?:please )?pass a valid api key",
  "authentication (?:fails|failed|error|required)|unable to authenticate|invalid authentication|invalid (?:bearer|access) token",
  "user location is not supported",
);

const modelCodes: ReadonlySet<string> = new Set([
  ...["model_not_found", "model_not_available", "model_not_exist", "invalid_model", "deploymentnotfound"],
  ...["model_not_supported", "model_decommissioned", "model_deprecated", "unknown_model", "model_retired"],
  ...["operationnotsupported", "endpoint_not_found", "resource_does_not_exist"], // Azure, Databricks
  ...["modelnotopen", "invalidendpointormodel.notfound", "invalidendpoint.closedendpoint"], // Volcengine
  "1211", // Z.ai
]);

/**
 * modelWords finds messages that say that the server lacks the model, or has not loaded it. What a message quotes, such as the model's name,
 * was removed before.
 */
const modelWords = new RegExp(
  [
    "^(?:the )?(?:requested )?model (?:'' |\\S{1,200} )?(?:does not|doesn't) exist|^(?:the )?(?:requested )?model (?:'' )?not (?:exist|found)",
    "^model (?:'' )?(?:is )?not found|^model \\S{1,200} is not supported\\. supported models are\\b",
    "^the supported api model names are\\b|^model (?:'' |\\S{1,200} )?was removed on\\b",
    "^invocation of model id \\S{1,200} with on-demand throughput isn\\Wt supported\\b",
    "^(?:no such|unknown) model\\b|^invalid model\\b(?! (?:output|response))|^invalid params, unknown model\\b",
    "^no endpoints found for\\b|is not a valid model id|model identifier is invalid|invalid model name passed in\\b",
    "^the model '' has been (?:decommissioned|deprecated)|^no models? (?:is |are )?(?:currently )?loaded\\b",
    "^(?:the )?model (?:'' )?(?:is |was |has been )?unloaded\\b|^failed to load model\\b|^(?:the )?model has crashed\\b",
    // Of a feature that a model lacks more is said.
    "^(?:the |this |requested |selected )*model (?:'' |\\S{1,200} )?(?:is |was |has been )?(?:currently )?(?:not (?:available|loaded|deployed|supported)|unavailable|no longer (?:available|supported)|deprecated|retired|discontinued)(?=[.!:,;]|$| and\\b| (?:for|to|in|on) (?:your|this|new)\\b| by any\\b)",
    "^(?:access denied\\. )?this model is marked by provider as legacy\\b|^unsupported model(?::| '')",
    "^no (?:allowed )?(?:endpoints|providers) (?:found|available|are available) (?:matching your|for)\\b",
    "^(?:there are )?no healthy deployments for\\b|^(?:litellm\\.\\w{1,40}: )?llm provider not provided\\b",
    "^'' does not support (?:chat|completions?|generate|embed(?:ding)?s?)\\b|^could not find (?:the )?model\\b",
  ].join("|"),
  "i",
);
const modelWordsOf404 =
  /^(?:not found the model|models\/\S{1,200} is not found|this model version has reached the end)/i;

/** A provider that refuses the content says so with the status of a wrong key. */
const moderated = wordsOf(
  "flagged|moderation|content[ _]policy",
  "violat(?:es?|ed|ing) (?:\\w+ ){0,3}(?:usage|content|safety|acceptable)|safety[ _]check",
);

/** Errors of what a caller has named by its address. */
const codesOfNamed: ReadonlySet<string> = new Set([
  ...["external_connector_error", "invalid_image_url", "failed_to_download_image", "image_file_not_found"],
]);
const serversOfTools = /\bmcp server|\bconnector\b/i;
const unfetched = wordsOf(
  "(?:error|timeout|time[ -]?out|failure) (?:while |when |in )?(?:download|fetch|retriev)ing",
  "(?:failed|unable|could not|couldn't|cannot|can't) (?:to )?(?:download|fetch|retrieve)\\b(?! (?:the )?model)",
  "(?:failed|unable|could not|couldn't|cannot|can't) (?:to )?(?:load|open|access) (?:the |an? )?(?:image|picture|file|video|audio|media|url)\\b",
);

/**
 * isOfNamed reports the failure of what the caller has named by its address: a server of tools, or a picture to fetch. The vendor is healthy,
 * and has accepted the gateway's own credential, whatever it tells of that: any caller could bring it about. `status` is undefined within
 * an answer, and `told` is the one that its codes mean: a server's own failure to fetch something is no caller's.
 *
 * Sources: https://github.com/agentgateway/agentgateway/issues/383, https://github.com/RageAgainstThePixel/OpenAI-DotNet/issues/486
 */
export function isOfNamed({ codes, message = "" }: ErrorFields, status = 400, told: number | undefined): boolean {
  if (codes.some((code) => codesOfNamed.has(plainCode(code)))) return true;
  const words = withoutQuotations(message.slice(0, lookedAt));
  return (status < 500 && serversOfTools.test(words)) || (told === 400 && unfetched.test(words));
}

/** Statuses that leave no doubt: the words may only repeat the request. */
const statusesOfRequests: ReadonlySet<number> = new Set([404, 413, 422]);

/** meaningOf returns undefined where the status says it all. */
export function meaningOf(words: ErrorFields, status: number): Meaning | undefined {
  const codes = words.codes.map(plainCode);
  const message = withoutQuotations((words.message ?? "").slice(0, lookedAt));
  const mayTell = !statusesOfRequests.has(status);
  if (status === 402 || codes.some((code) => creditCodes.has(code))) return "credit";
  if (mayTell && creditWords.test(message)) return "credit";
  if (isAboutModel(words, codes, message, status)) return "model";
  if (status === 403 && [message, ...codes].some((words) => moderated.test(words))) return undefined;
  if (status === 401 || status === 403 || status === 407) return "credential";
  if (codes.some((code) => credentialCodes.has(code))) return "credential";
  if (mayTell && credentialWords.test(message)) return "credential";
  return lateStatuses.has(status) || codes.includes("timeout_error") ? "late" : undefined;
}

/** lateStatuses are those of servers and, as Cloudflare's, of proxies that waited for one in vain. */
const lateStatuses: ReadonlySet<number> = new Set([408, 504, 522, 524]);

/** Characters of a message that are read. */
const lookedAt = 300;

function wordsOf(...patterns: readonly string[]): RegExp {
  return new RegExp(`(?<!\\w)(?:${patterns.join("|")})`, "i");
}

/**
 * isAboutModel reports an unknown model: by a code, by the message, or for a 404 by its param. Anthropic names the model after its type.
 */
function isAboutModel({ param }: ErrorFields, codes: readonly string[], message: string, status: number): boolean {
  if (codes.some((code) => modelCodes.has(code))) return true;
  if (codes.includes("not_found_error") && /^model:/i.test(message)) return true;
  if ((status === 400 || status === 404 || status === 410) && modelWords.test(message)) return true;
  return status === 404 && (param === "model" || saysNoModel(message) || modelWordsOf404.test(message));
}

/** Searches from the first mention of a model only; starting over at each would take quadratic time. */
function saysNoModel(message: string): boolean {
  const at = message.search(/\bmodel\b/i);
  return at !== -1 && /\bnot (?:found|exist)/i.test(message.slice(at));
}

/**
 * pathWords finds the messages that say that a server, or a proxy, serves nothing at the path. The path comes from the gateway's
 * configuration.
 */
const pathWords =
  /^(?:(?:404 )?(?:page |file |path |url |route |endpoint |resource )?not found|invalid url|method not allowed|cannot post|no (?:such )?(?:route|handler|static resource|endpoint)\b|unknown (?:path|url|route|endpoint)|unexpected endpoint)/i;

/** misrouted finds what Alibaba and Cloudflare say of a wrong path with another status. */
const misrouted = /^(?:url error, please check url|could not route to\b)/i;

/** servesNothing reports that a server has nothing at the path that was asked, as far as its status and words tell. */
export function servesNothing({ message, isText }: ErrorFields, status: number): boolean {
  if (status === 405 || status === 501) return true;
  if (status === 400 && message !== undefined && misrouted.test(message)) return true;
  return status === 404 && (message === undefined || isText || pathWords.test(message.trim()));
}

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
 * exactStatus returns the status that an error answer means: its own, unless its codes say that there is too much to do. Proxies, and some
 * vendors, say so with a status for something else.
 */
export function exactStatus(answered: number, codes: ErrorFields["codes"]): number {
  const meant = statusMeant(codes);
  if (meant === 429 && (answered === 400 || answered === 403 || answered >= 500)) return meant;
  return (meant === 503 || meant === 504) && (answered === 500 || answered === 502) ? meant : answered;
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

/** plainCode returns a code as it is looked up, without the namespace that AWS puts before it: `com.amazon.coral.service#ThrottlingException`. */
function plainCode(code: string | number): string {
  return `${code}`.toLowerCase().replace(/^[\w.]*#/, "");
}

function as(status: number): (word: string) => readonly [string, number] {
  return (word) => [word, status];
}

/** statusMeant returns the status that an error's codes mean: a status as a number or string, or a known word; undefined without one. */
export function statusMeant(codes: ErrorFields["codes"]): number | undefined {
  for (const code of codes) {
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
