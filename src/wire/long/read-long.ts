/**
 * Long public JSON → message, in time slices: the result of `readMessage`, with the items of long lists read a few at a
 * time.
 */
import type { DescMessage, JsonObject, JsonValue, MessageShape } from "@bufbuild/protobuf";
import type { CooperativeTask } from "../../runtime/cooperative.ts";
import { WireFault } from "../fault.ts";
import { checkCount } from "../json.ts";
import { type FieldPlan, type MessagePlan, planOf, type UnionPlan, type ValuePlan } from "../plan.ts";
import { readItem, readMessage } from "../read.ts";

/** Shorter lists are read at once. */
const manyItems = 256;
const itemsPerYield = 64;

/** LongList is a list of messages, and how its message holds it. */
interface LongList {
  readonly key: string;
  readonly list: readonly JsonValue[];
  readonly item: ValuePlan;
  readonly name: string;
  hold(items: unknown[]): unknown;
}

/** readLongMessage throws a WireFault where the JSON does not fit: of several faults, the one that `readMessage` throws. */
export function* readLongMessage<D extends DescMessage>(desc: D, json: JsonObject): CooperativeTask<MessageShape<D>> {
  const lists = longListsOf(planOf(desc), json);
  const longKeys = new Set(lists.map(({ key }) => key));
  const rest = Object.fromEntries(Object.entries(json).filter(([key]) => !longKeys.has(key)));
  const { message, fault } = tryRead(desc, rest);
  for (const long of lists) {
    // The first fault in the order of the document is reported: a member before this list may have one.
    if (fault) readMessage(desc, membersBefore(long.key, json, longKeys), { lenient: false });
    const held = long.hold(yield* readItems(long));
    if (message) message[long.name] = held;
  }
  if (fault) throw fault;
  return message as MessageShape<D>;
}

function tryRead(desc: DescMessage, json: JsonObject): { message?: Record<string, unknown>; fault?: unknown } {
  try {
    return { message: readMessage(desc, json, { lenient: false }) as Record<string, unknown> };
  } catch (fault) {
    return { fault };
  }
}

function membersBefore(end: string, json: JsonObject, except: ReadonlySet<string>): JsonObject {
  const entries = Object.entries(json);
  const at = entries.findIndex(([key]) => key === end);
  return Object.fromEntries(entries.slice(0, at).filter(([key]) => !except.has(key)));
}

function* readItems({ key, list, item }: LongList): CooperativeTask<unknown[]> {
  const items: unknown[] = [];
  let at: number | undefined;
  try {
    checkCount(list.length);
    for (at = 0; at < list.length; at++) {
      items.push(readItem(item, list[at] as JsonValue));
      if (items.length % itemsPerYield === 0) yield;
    }
  } catch (fault) {
    if (!(fault instanceof WireFault)) throw fault;
    throw (at === undefined ? fault : fault.under(at)).under(key);
  }
  return items;
}

function longListsOf({ byKey }: MessagePlan, json: JsonObject): LongList[] {
  return Object.keys(json).flatMap((key) => {
    const list = json[key];
    const member = byKey.get(key);
    if (!member || !Array.isArray(list) || list.length < manyItems || typeof list[0] !== "object") return [];
    const found = member.kind === "field" ? inField(member) : inUnion(member);
    return found?.item.kind === "message" ? [{ ...found, key, list, name: member.name }] : [];
  });
}

type Holding = Pick<LongList, "item" | "hold">;

function inField({ shape, value }: FieldPlan): Holding | undefined {
  return shape === "list" ? { item: value, hold: (items) => items } : undefined;
}

/** A list in a union is a transparent message around a list. */
function inUnion({ byType }: UnionPlan): Holding | undefined {
  const found = byType.get("list");
  const plan = found?.value.kind === "message" ? found.value.plan : undefined;
  const bare = plan?.bare;
  if (!found || !plan || bare?.kind !== "field" || bare.shape !== "list") return undefined;
  return {
    item: bare.value,
    hold: (items) => ({ case: found.case, value: { ...plan.zero, [bare.name]: items } }),
  };
}
