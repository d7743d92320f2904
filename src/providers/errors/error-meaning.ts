/**
 * Tells what an upstream's error means for the caller, by its status, codes and message. The tables are the vendors'
 * own words.
 *
 * Only the beginning of a message is read, and no quotations: they may repeat what the caller wrote, which must not
 * pass for the upstream's word on the gateway's own account.
 */
import type { ErrorFields } from "./error-fields.ts";
import { isThrottled, lookedAt, moderated, plainCode, serversOfTools, unfetched, wordsOf } from "./error-words.ts";
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
  "exceeded your monthly included credits|free allocated quota exceeded",
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
  ...["1211", "1311"], // Z.ai, the second of a plan without the model
  "2061", // MiniMax, of such a plan, too
  "unavailable_model", // GitHub
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
    "^(?:the )?model (?:'' )?(?:is |was |has been |has )?unloaded\\b|^failed to load model\\b|^(?:the )?model has crashed\\b",
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

/** Errors of what a caller has named by its address. */
const codesOfNamed: ReadonlySet<string> = new Set([
  ...["external_connector_error", "invalid_image_url", "failed_to_download_image", "image_file_not_found"],
]);
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
  const isUnpaid = codes.some((code) => creditCodes.has(code)) && !isThrottled(words);
  if (status === 402 || isUnpaid) return "credit";
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

/** misrouted finds what Alibaba and Cloudflare say of a wrong path with another status, and Azure of a wrong version of its API. */
const misrouted = /^(?:url error, please check url|could not route to\b|api version not supported)/i;

/** servesNothing reports that a server has nothing at the path that was asked, as far as its status and words tell. */
export function servesNothing({ message, isText }: ErrorFields, status: number): boolean {
  if (status === 405 || status === 501) return true;
  if (status === 400 && message !== undefined && misrouted.test(message)) return true;
  return status === 404 && (message === undefined || isText || pathWords.test(message.trim()));
}
