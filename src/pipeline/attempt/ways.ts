/**
 * By which operation an upstream is asked, and through which translations: by the family of the call, by what its profile says,
 * and, where that is not enough, by the request.
 */

import type { Operation } from "../../call/operations.ts";
import { findTranslations, throughChat } from "../../families/index.ts";
import { hasAgentItems, hasCompactionTrigger, hasTools, requestedEffort } from "../../families/request-needs.ts";
import { relayResponses } from "../../families/responses-to-responses/index.ts";
import type { Translation } from "../../families/translation.ts";
import type { Provider, RequestFitter } from "../../providers/contract.ts";
import { type Model, mayRelay } from "../../targets/catalog.ts";
import type { JsonObject } from "../../wire/json.ts";

export type Way = readonly Translation[];

/** The ways that calls take to a target. */
export interface Ways {
  readonly usual: Way;
  /** The other, and which requests take it; undefined where all take the usual one. */
  readonly other?: { readonly way: Way; readonly takes: (request: JsonObject) => boolean } | undefined;
  /** In the place of responses, where the server turns out not to have them. */
  readonly spare?: Way | undefined;
}

/** Returns undefined where the target cannot be asked. */
export function waysTo(
  asked: Operation,
  model: Model,
  { speaks }: Pick<Provider, "speaks">,
  fitting: RequestFitter | undefined,
): Ways | undefined {
  const isSpoken = (operation: Operation) => speaks[operation] !== undefined && mayRelay(model, operation);
  const rule = fitting?.responses ?? "when_asked";
  if (!fitting || !isSpoken("responses")) return only(findTranslations(asked, isSpoken));
  const isOffered = (operation: Operation) => isSpoken(operation) && !(operation === "responses" && rule === "never");
  const isChosen = (operation: Operation) => isOffered(operation) && !(operation === "chat" && rule === "always");
  const spare = findTranslations(asked, (operation) => operation !== "responses" && isChosen(operation));
  if (asked === "responses") return responsesWays(findTranslations(asked, isChosen), spare, fitting);
  const usual = findTranslations(asked, isChosen);
  if (!usual || rule !== "tools") return only(usual);
  const way = findTranslations(asked, (operation) => operation === "responses");
  if (!way) return only(usual);
  const takes = (request: JsonObject) => hasTools(request) && fitting.reasonsBy(requestedEffort(asked, request));
  return { usual, other: { way, takes }, spare };
}

function only(usual: Way | undefined): Ways | undefined {
  return usual && { usual };
}

/** What a server does not know of what agents send, and what sums a conversation up, is put into chat's words. */
function responsesWays(
  way: Way | undefined,
  spare: Way | undefined,
  { takesAnyItem }: RequestFitter,
): Ways | undefined {
  // Where responses are not spoken they are translated all the same.
  if (!way || way.length > 0) return only(way);
  const takes = (request: JsonObject) => hasCompactionTrigger(request) || (!takesAnyItem && hasAgentItems(request));
  return { usual: [relayResponses as unknown as Translation], other: { way: spare ?? throughChat, takes }, spare };
}
