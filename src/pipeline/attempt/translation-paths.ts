/**
 * By which operation a target is asked, and through which translations: the family of the call decides, then the profile of
 * the upstream, and where that is not enough the request itself.
 */

import type { Operation } from "../../call/operations.ts";
import { hasTools } from "../../call/tools/tools-anywhere.ts";
import { toolsAsFunctions } from "../../families/chat-to-chat/index.ts";
import { findTranslations, throughChat } from "../../families/index.ts";
import {
  hasAgentItems,
  hasCompactionTrigger,
  hasLinkedDocuments,
  needsMoreThanFunctions,
  requestedEffort,
} from "../../families/request-needs.ts";
import { relayResponses } from "../../families/responses-to-responses/index.ts";
import type { Translation } from "../../families/translation.ts";
import type { Provider, RequestFitter } from "../../providers/contract.ts";
import { type Model, mayRelay } from "../../targets/catalog.ts";
import type { JsonObject } from "../../wire/json.ts";

/** TranslationPath is the translations between a call and its upstream, in order; empty where a request is relayed as it is. */
export type TranslationPath = readonly Translation[];

/** TranslationPaths are the ways to translate requests for one target. */
export interface TranslationPaths {
  readonly usual: TranslationPath;
  /** Another path, and the requests that take it; undefined where all requests take the usual one. */
  readonly other?: { readonly path: TranslationPath; readonly takes: (request: JsonObject) => boolean } | undefined;
  /** The path that replaces `responses` where the server turns out not to serve that operation. */
  readonly spare?: TranslationPath | undefined;
}

/** translationPathsTo returns the paths by which a target can be asked an operation; undefined where it cannot. */
export function translationPathsTo(
  asked: Operation,
  model: Model,
  upstream: string,
  provider: Pick<Provider, "speaks">,
  fitting: RequestFitter | undefined,
): TranslationPaths | undefined {
  const paths = pathsByFamily(asked, model, upstream, provider, fitting);
  const isRelayed = asked === "chat" && paths?.usual.length === 0 && !paths.other;
  if (!isRelayed || !fitting?.takesFunctionsOnly) return paths;
  return { ...paths, other: { path: [toolsAsFunctions as unknown as Translation], takes: needsMoreThanFunctions } };
}

function pathsByFamily(
  asked: Operation,
  model: Model,
  upstream: string,
  { speaks }: Pick<Provider, "speaks">,
  fitting: RequestFitter | undefined,
): TranslationPaths | undefined {
  const isSpoken = (operation: Operation) => speaks[operation] !== undefined && mayRelay(model, operation);
  const rule = fitting?.responses ?? "when_asked";
  if (!fitting || !isSpoken("responses")) return only(findTranslations(asked, isSpoken));
  const isOffered = (operation: Operation) => isSpoken(operation) && !(operation === "responses" && rule === "never");
  const isChosen = (operation: Operation) => isOffered(operation) && !(operation === "chat" && rule === "always");
  const spare = findTranslations(asked, (operation) => operation !== "responses" && isChosen(operation));
  if (asked === "responses") return responsesPaths(findTranslations(asked, isChosen), spare, upstream, fitting);
  const usual = findTranslations(asked, isChosen);
  const isOptional = rule === "tools" || (rule === "when_asked" && asked === "messages");
  const path = isOptional ? findTranslations(asked, (operation) => operation === "responses") : undefined;
  if (!usual || !path) return only(usual);
  const thinksWithTools = (request: JsonObject) =>
    rule === "tools" && hasTools(request) && fitting.reasonsBy(requestedEffort(asked, request));
  const takes = (request: JsonObject) =>
    thinksWithTools(request) || (asked === "messages" && hasLinkedDocuments(request));
  return { usual, other: { path, takes }, spare };
}

function only(usual: TranslationPath | undefined): TranslationPaths | undefined {
  return usual && { usual };
}

/**
 * Relays requests for responses, except those that the server would not understand: items that only agents send, and a request
 * to sum the conversation up. These are translated to chat.
 */
function responsesPaths(
  path: TranslationPath | undefined,
  spare: TranslationPath | undefined,
  upstream: string,
  { takesAnyItem }: RequestFitter,
): TranslationPaths | undefined {
  // A server that does not speak responses gets a translation in any case.
  if (!path || path.length > 0) return only(path);
  const takes = (request: JsonObject) =>
    hasCompactionTrigger(request) || (!takesAnyItem && hasAgentItems(request, upstream));
  return { usual: [relayResponses as unknown as Translation], other: { path: spare ?? throughChat, takes }, spare };
}
