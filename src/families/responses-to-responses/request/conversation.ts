/**
 * The items of a conversation as their upstream knows them: with its own ids, and without what only another upstream
 * could read.
 *
 * A conversation may change its model. Reasoning that another upstream encrypted, or a translation made, is dropped
 * and named, and so is another server's compacted conversation. The gateway's own summary becomes a message.
 */
import { makerOf } from "../../../providers/profile/reasoning-seal.ts";
import { type CooperativeTask, endsSlice } from "../../../runtime/cooperative.ts";
import { isObject, type JsonObject, type JsonValue } from "../../../wire/json.ts";
import { unsignedId } from "../../call-signature.ts";
import type { Dropped } from "../../paths/dropped.ts";
import { isMadeId, relayedFrom } from "../../relayed-ids.ts";
import { compactionTypes, summaryOf } from "../../responses-to-chat/compaction.ts";
import { unsealed } from "../../responses-to-chat/seal.ts";
import type { IsUnpriced, ReasoningItems } from "../../translation.ts";
import { pricedTools } from "./tools.ts";

/** relayedInput returns undefined where all items stay as they came. */
export function* relayedInput(
  items: readonly JsonValue[],
  reasoning: ReasoningItems,
  isUnpriced: IsUnpriced,
  dropped: Dropped,
): CooperativeTask<JsonValue[] | undefined> {
  const maker = makerOf(reasoning.upstream);
  const vain = reasoning.taken === "encrypted" ? vainReasoning(items) : new Set();
  const relayed: JsonValue[] = [];
  let isChanged = false;
  for (const [i, item] of items.entries()) {
    if (endsSlice(i)) yield;
    const known = isObject(item) ? relayedItem(item, maker, reasoning) : item;
    const told = isObject(known) && vain.has(i) && "id" in known ? without(known, "id") : known;
    const kept = isObject(told) ? withPricedTools(told, `input[${i}]`, isUnpriced, dropped) : told;
    if (kept === undefined) dropped.add(`input[${i}]`);
    else relayed.push(kept);
    isChanged ||= kept !== item;
  }
  return isChanged ? relayed : undefined;
}

/**
 * vainReasoning returns the places of reasoning that has led to nothing, because the model was interrupted: OpenAI refuses such by its id
 * without what follows from it, and takes it without an id.
 */
function vainReasoning(items: readonly JsonValue[]): ReadonlySet<number> {
  const vain = new Set<number>();
  let isVain = true;
  for (let i = items.length - 1; i >= 0; i--) {
    const item = items[i];
    if (!isObject(item) || item.type !== "reasoning") isVain = isObject(item) && isOfOthers(item);
    else if (isVain) vain.add(i);
  }
  return vain;
}

/** isOfOthers reports what the user says and what tools have given. */
function isOfOthers({ type = "message", role }: JsonObject): boolean {
  return type === "message" ? role === "user" : typeof type === "string" && type.endsWith("_output");
}

/** relayedItem returns undefined for an item that the upstream could not read. */
function relayedItem(item: JsonObject, maker: string, { taken }: ReasoningItems): JsonObject | undefined {
  const { type, id, encrypted_content: hidden } = item;
  const from = typeof id === "string" ? relayedFrom(id) : undefined;
  const isElsewhere = from !== undefined && from.maker !== maker;
  if (type === "reasoning" && !isOfUse(item, isElsewhere, formOf(taken, from?.maker === maker))) return undefined;
  if (typeof type === "string" && compactionTypes.has(type)) {
    const summary = typeof hidden === "string" ? summaryOf(hidden) : undefined;
    if (summary) return summary;
    if (isElsewhere) return undefined;
  }
  return withOwnIds(item);
}

/** withPricedTools removes unpriced tools from an item that brings tools along. */
function withPricedTools(item: JsonObject, path: string, isUnpriced: IsUnpriced, dropped: Dropped): JsonObject {
  const { tools } = item;
  const priced = pricedTools(tools, `${path}.tools`, isUnpriced, dropped);
  return priced === undefined || priced === tools ? item : { ...item, tools: priced };
}

/** formOf returns the reasoning that an upstream takes back of what it made itself, or others did. */
function formOf(taken: ReasoningItems["taken"], isOwn: boolean): "encrypted" | "plain" | "either" {
  if (taken !== "own") return taken;
  return isOwn ? "either" : "plain";
}

function isOfUse(item: JsonObject, isElsewhere: boolean, taken: "encrypted" | "plain" | "either"): boolean {
  const { encrypted_content: hidden, content } = item;
  const isEncrypted = typeof hidden === "string" && unsealed(hidden) === undefined && !isElsewhere;
  const isReadable = Array.isArray(content) && content.length > 0;
  return (isEncrypted && taken !== "plain") || (isReadable && taken !== "encrypted");
}

/** The members that may hold an item's id. */
const idKeys = ["id", "approval_request_id"] as const;

function withOwnIds(item: JsonObject): JsonObject {
  let relayed = item;
  for (const key of idKeys) {
    const id = item[key];
    if (typeof id !== "string") continue;
    const own = relayedFrom(id)?.own;
    if (own !== undefined) relayed = { ...relayed, [key]: own };
    else if (key === "id" && isMadeId(id)) relayed = without(relayed, key);
  }
  const { call_id: callId } = item;
  if (typeof callId === "string" && unsignedId(callId) !== callId)
    relayed = { ...relayed, call_id: unsignedId(callId) };
  return relayed;
}

function without({ ...item }: JsonObject, key: string): JsonObject {
  delete item[key];
  return item;
}
