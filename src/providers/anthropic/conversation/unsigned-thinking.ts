/**
 * Removes thinking that Claude has not signed from requests to Claude, and names it.
 *
 * A conversation may change its model. Thinking of another model has no signature, an empty one where this gateway
 * put it into a message, or another vendor's; Claude refuses the whole request for it. A turn of nothing else is
 * removed with it. Signatures of texts by another vendor, and citations that translations made, are removed, too, but
 * not named: nobody misses them. Where the answer continues a turn that now begins without thinking, the model cannot
 * think within a budget.
 */
import type { DescMessage, JsonObject, JsonValue } from "@bufbuild/protobuf";
import { blocksIn } from "../../../call/request/content-parts.ts";
import { andThen, type MaybePromise } from "../../../runtime/maybe-promise.ts";
import { isObject, listOrEmpty } from "../../../wire/json.ts";
import { Wire } from "../../../wire/wire.ts";
import { isSealedReasoning } from "../../profile/reasoning-seal.ts";
import { isMadeCitation, isSealedSignature } from "../../profile/sealed-signature.ts";
import { isClaude } from "../generation.ts";

/**
 * requiresSignedThinking reports whether thinking in a request for this model must be signed by its vendor. Other vendors speak the same
 * API.
 */
export function requiresSignedThinking(model: string, baseUrl: string): boolean {
  return isClaude(model) || /(^|\.)anthropic\.com$/i.test(new URL(baseUrl).hostname);
}

export interface Narrowed<D extends DescMessage> {
  readonly request: Wire<D>;
  /** The public paths of what was left out. */
  readonly dropped: readonly string[];
}

/** withoutUnsigned returns the request without unsigned thinking; the same request where it has none. */
export function withoutUnsigned<D extends DescMessage>(request: Wire<D>): MaybePromise<Narrowed<D>> {
  const { messages: outlined } = request.outline();
  const paths = unsignedIn(outlined);
  if (paths.length === 0 && !hasUnnamed(outlined)) return { request, dropped: paths };
  const json = request.json();
  const messages = signedMessages(json.messages as JsonValue[]);
  const lost = resumesWithoutThinking(messages) ? budgetIn(json) : [];
  const changes = { messages, ...Object.fromEntries(lost.map((key) => [key, undefined])) };
  const dropped = [...paths, ...lost];
  if (!request.isLong) return { request: request.with(changes), dropped };
  const kept = Object.entries({ ...json, messages }).filter(([key]) => !lost.includes(key));
  const narrowed = Wire.ofJson(request.desc, Object.fromEntries(kept) as JsonObject).writeInSlices();
  return andThen(narrowed, (written) => ({ request: written, dropped }));
}

/** unsignedIn returns the paths of unsigned thinking. */
function unsignedIn(messages: JsonValue | undefined): string[] {
  if (!Array.isArray(messages)) return [];
  return messages.flatMap((message, i) =>
    blocksIn(message).flatMap((block, k) => (isUnsigned(block) ? [`messages[${i}].content[${k}]`] : [])),
  );
}

/** Messages of any role are filtered. */
function signedMessages(messages: readonly JsonValue[]): JsonValue[] {
  return messages.flatMap((message) => {
    const blocks = blocksIn(message);
    if (!blocks.some((block) => isForeign(block) || hasMadeCitation(block))) return [message];
    const content = blocks.filter((block) => !isForeign(block)).map(withoutMadeCitations);
    return content.length > 0 ? [{ ...(message as JsonObject), content }] : [];
  });
}

function isUnsigned(block: JsonValue): boolean {
  if (!isObject(block)) return false;
  const proof = block.type === "thinking" ? block.signature : block.data;
  if (block.type !== "thinking" && block.type !== "redacted_thinking") return false;
  return (proof ?? "") === "" || isSealedReasoning(proof);
}

function isForeign(block: JsonValue): boolean {
  return isUnsigned(block) || isSealed(block);
}

function isSealed(block: JsonValue): boolean {
  return isObject(block) && block.type === "redacted_thinking" && isSealedSignature(block.data);
}

/** hasUnnamed reports whether there is anything that is removed and not named. */
function hasUnnamed(messages: JsonValue | undefined): boolean {
  const isUnnamed = (block: JsonValue) => isSealed(block) || hasMadeCitation(block);
  return Array.isArray(messages) && messages.some((message) => blocksIn(message).some(isUnnamed));
}

function hasMadeCitation(block: JsonValue): boolean {
  return isObject(block) && Array.isArray(block.citations) && block.citations.some(isMadeCitation);
}

function withoutMadeCitations(block: JsonValue): JsonValue {
  if (!isObject(block) || !Array.isArray(block.citations) || !hasMadeCitation(block)) return block;
  const { citations, ...rest } = block;
  const left = citations.filter((citation) => !isMadeCitation(citation));
  return left.length > 0 ? { ...rest, citations: left } : rest;
}

/** resumesWithoutThinking reports whether the answer continues a turn of the assistant, after tool results or as a prefill. */
export function resumesWithoutThinking(messages: readonly JsonValue[]): boolean {
  const last = messages.findLast((message) => isObject(message) && message.role !== "system");
  const isResult = (block: JsonValue) => isObject(block) && block.type === "tool_result";
  const goesOn = isObject(last) && (last.role === "assistant" || blocksIn(last).some(isResult));
  const turn = goesOn ? messages.findLast((message) => isObject(message) && message.role === "assistant") : undefined;
  const [first] = turn === undefined ? [] : blocksIn(turn);
  return turn !== undefined && !(isObject(first) && isOneOf(first, /^(redacted_)?thinking$/));
}

/** budgetIn returns the keys that ask for thinking within a budget, and for what depends on it. */
function budgetIn(json: JsonObject): string[] {
  const { thinking } = json;
  return isObject(thinking) && thinking.type === "enabled" ? thinkingKeys(json) : [];
}

/** thinkingKeys returns the keys that ask for thinking, and for what depends on it. */
export function thinkingKeys({ context_management }: JsonObject): string[] {
  const edits = isObject(context_management) ? listOrEmpty(context_management.edits) : [];
  const needsIt = edits.some((edit) => isObject(edit) && isOneOf(edit, /^clear_thinking/));
  return needsIt ? ["thinking", "context_management"] : ["thinking"];
}

function isOneOf({ type }: JsonObject, types: RegExp): boolean {
  return typeof type === "string" && types.test(type);
}
