/**
 * The dialect of Anthropic's Messages API.
 *
 * In a request `model` is replaced and `stream` is set. Sampling settings that the caller's API version or the model
 * does not have are left out and named, and so are thinking that Claude has not signed, and fallback models: they have
 * prices and permissions of their own. Blank texts and images of a wrong type, which it would refuse, are mended
 * (`usable-content.ts`), and so are earlier calls (`fitting-calls.ts`) and instructions in mid-conversation
 * (`late-instructions.ts`). Thinking, effort and tools are asked for as the model's generation takes them
 * (`fit-generation.ts`). `anthropic-version` and `anthropic-beta` pass through.
 * Errors keep the vendor's wording, by which clients switch features off.
 */

import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { Family } from "../../../gen/modelgateway/v1/access_pb.ts";
import type { Operation } from "../../call/operations.ts";
import { wouldBeDropped } from "../../call/refusals.ts";
import { refuseThread } from "../../call/request/stored-thread.ts";
import { credentialOf } from "../../config/catalogue/vendors.ts";
import type { CreateUpstreamClient } from "../../http1/client/index.ts";
import type { Attempt, Provider, Speak } from "../contract.ts";
import { type Dialect, requestBody } from "../dialect.ts";
import { createRedact, type Redact } from "../errors/redact.ts";
import { type ErrorDialect, refusalOfAnswer, refusalOfErrorIn } from "../errors/upstream-error.ts";
import { withForeignPieces } from "../frames/native/foreign-pieces.ts";
import { idsOfMessages } from "../own-ids/of-messages.ts";
import { withOwnIds } from "../own-ids/own-ids.ts";
import { isDefault } from "../profile/keys/refused.ts";
import { lowerCased } from "../upstream/lower-cased.ts";
import { checkOver, commonFields, credentialsIn, secretsOf, speakOver } from "../upstream/speak.ts";
import type { Timeouts } from "../upstream/timeouts.ts";
import { createUpstream } from "../upstream/upstream.ts";
import { createEventAccumulator } from "./accumulator.ts";
import { withFittingCalls } from "./conversation/fitting-calls.ts";
import { withPlacedInstructions } from "./conversation/late-instructions.ts";
import { refuseUnheard } from "./conversation/unheard.ts";
import { requiresSignedThinking, withoutUnsigned } from "./conversation/unsigned-thinking.ts";
import { withUsableContent } from "./conversation/usable-content.ts";
import { countingDialect } from "./counting.ts";
import { anthropicFaults } from "./faults.ts";
import { fitGeneration, refusedSampling } from "./fit-generation.ts";
import { eventsOfMessage } from "./frames.ts";
import { refusesSampling } from "./generation.ts";
import { withoutIdleSettings } from "./idle-settings.ts";
import { trackEvents } from "./tracker.ts";
import { meterMessage } from "./usage.ts";
import { changesOfMessage, lackingHead } from "./usual-message.ts";

export interface AnthropicOptions {
  /** All keys of the upstream, among which calls take turns. Default: `apiKey`. */
  readonly apiKeys?: readonly string[] | undefined;
  /** With the version: `https://api.anthropic.com/v1`. */
  readonly baseUrl: string;
  readonly apiKey: string | undefined;
  /** The header that the key goes into. Default: `x-api-key`. */
  readonly credential?: string | undefined;
  /** Further headers of each request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly query?: Readonly<Record<string, string>> | undefined;
  readonly timeouts?: Timeouts;
  /** Creates the HTTP client. Default: the one of `http1/client`. */
  readonly createClient?: CreateUpstreamClient | undefined;
}

export function createAnthropicProvider(options: AnthropicOptions): Provider {
  const { baseUrl, apiKey, apiKeys = apiKey === undefined ? [] : [apiKey], timeouts, headers, query } = options;
  const upstream = createUpstream(baseUrl, timeouts, query, options.createClient);
  const credential = { ...lowerCased(headers), ...credentialOf(apiKey, options.credential ?? "x-api-key") };
  const dialect = anthropicDialect(credential, createRedact(baseUrl, secretsOf(apiKey, headers, query)));
  const isSigned = (model: string) => requiresSignedThinking(model, baseUrl);
  const secrets = credentialsIn(apiKeys, headers, query);
  const spoken = <O extends Operation>(spokenAs: Dialect, path: string): Speak<O> =>
    dropUnsupported(withOwnIds(speakOver<O>(upstream, spokenAs, path), secrets, idsOfMessages), isSigned);
  return {
    kind: "anthropic",
    speaks: {
      messages: spoken(dialect, "/messages"),
      count_tokens: spoken(countingDialect(dialect), "/messages/count_tokens"),
    },
    check: checkOver(upstream, { ...credential, "anthropic-version": defaultVersion }),
    close: () => upstream.close(),
  };
}

/** The version for callers that name none, as those of other families. */
const defaultVersion = "2023-06-01";
/** From this version on the API refuses sampling settings, even default ones. */
const firstWithoutSampling = "2026-10-21";
const sampling = ["temperature", "top_p", "top_k"] as const;

/**
 * refusedKeys returns the keys of a request that the vendor would refuse, or by which it would answer with another model. `thinking` is what
 * the model is asked for.
 */
function refusedKeys(request: JsonObject, thinking: JsonValue | undefined, model: string, header: Attempt["header"]) {
  const hasNoSampling = versionOf(header) >= firstWithoutSampling || refusesSampling(model);
  const refused = hasNoSampling ? sampling : refusedSampling(request, thinking, model);
  return [...refused, "fallbacks"].filter((key) => (request[key] ?? null) !== null);
}

/** Leaves out what the vendor would refuse and names it. With `x-gateway-strict` it refuses the request instead. */
function dropUnsupported<O extends Operation>(speak: Speak<O>, isSigned: (model: string) => boolean): Speak<O> {
  return async (attempt) => {
    const { header, model } = attempt;
    if (!isSigned(model)) refuseThread(attempt.request.outline());
    refuseUnheard(attempt.request.outline(), model);
    const placed = await withPlacedInstructions(await withUsableContent(attempt.request), model);
    // Behind the instructions: where they become the user's words, an interrupted call of the vendor's has failed.
    const asked = await withFittingCalls(placed, model);
    const signed = isSigned(model) ? await withoutUnsigned(asked) : { request: asked, dropped: [] };
    const given = signed.request.outline();
    const fitted = fitGeneration(signed.request, model);
    const thinking = "thinking" in fitted.changes ? fitted.changes.thinking : given.thinking;
    const refused = refusedKeys(given, thinking, model, header);
    const isLost = (key: string) => !isDefault(key, given[key]) || versionOf(header) >= firstWithoutSampling;
    const idle = withoutIdleSettings(given, model);
    const dropped = [...refused.filter(isLost), ...signed.dropped, ...fitted.dropped, ...idle.dropped];
    const changes = { ...idle.changes, ...fitted.changes };
    const isChanged = refused.length > 0 || Object.keys(changes).length > 0;
    if (!isChanged && dropped.length === 0) return speak({ ...attempt, request: signed.request });
    const isStrict = header("x-gateway-strict")?.trim().toLowerCase() === "true";
    if (isStrict && dropped.length > 0) throw wouldBeDropped(dropped);
    const left = Object.fromEntries(refused.map((key) => [key, undefined]));
    const request = signed.request.with({ ...changes, ...left });
    const answer = await speak({ ...attempt, request });
    if (dropped.length === 0) return answer;
    const further = answer.headers?.["x-gateway-dropped"] ?? [];
    return { ...answer, headers: { ...answer.headers, "x-gateway-dropped": dropped.concat(further).join(", ") } };
  };
}

function anthropicDialect(credential: Record<string, string>, hide: Redact): Dialect {
  const errors = anthropicErrors(hide);
  const common = commonFields(credential);
  const errorIn = anthropicFaults((json, bytes) => refusalOfErrorIn(json, bytes, errors));
  return {
    common: { whole: common, stream: common },
    headers({ header }) {
      const beta = header("anthropic-beta");
      return { "anthropic-version": versionOf(header), ...(beta ? { "anthropic-beta": beta } : {}) };
    },
    body: (attempt) => requestBody(attempt),
    refusal: (error) => refusalOfAnswer(error, errors),
    errorIn,
    changes: changesOfMessage,
    head: lackingHead,
    measure: meterMessage,
    namesEvents: true,
    track: (attempt) => withForeignPieces(trackEvents(attempt), errorIn),
    framesOf: eventsOfMessage,
    accumulator: createEventAccumulator,
  };
}

function versionOf(header: Attempt["header"]): string {
  return header("anthropic-version") ?? defaultVersion;
}

/** The status of each error type, for errors without one, as in streams. */
const statuses: ReadonlyMap<unknown, number> = new Map([
  ["invalid_request_error", 400],
  ["authentication_error", 401],
  ["billing_error", 402],
  ["permission_error", 403],
  ["not_found_error", 404],
  ["conflict_error", 409],
  ["request_too_large", 413],
  ["rate_limit_error", 429],
  ["timeout_error", 504],
  ["overloaded_error", 503],
]);

/** The type says more than the status, which proxies on the way may change. */
function anthropicErrors(hide: Redact): ErrorDialect {
  return {
    family: Family.ANTHROPIC,
    redact: hide,
    isOwn: ({ isAnthropic }) => isAnthropic,
    statusOf: ({ isAnthropic, error }) => (isAnthropic ? statuses.get(error.type) : undefined),
    overflowBody: () => undefined,
    saysOverflow: ({ code, message }, { openaiCode, vendorMessage }) =>
      code === openaiCode || message === vendorMessage,
    typed: (error) => error,
  };
}
