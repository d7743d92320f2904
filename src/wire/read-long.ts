/**
 * Long public JSON → message, in turns: what `readMessage` makes of a request, with the items of its long lists read some at a
 * time.
 */
import type { DescMessage, JsonObject, JsonValue, MessageShape } from "@bufbuild/protobuf";
import type { Work } from "../work.ts";
import { checkCount } from "./json.ts";
import { type FieldPlan, type MessagePlan, planOf, type UnionPlan, type ValuePlan } from "./plan.ts";
import { readItem, readMessage } from "./read.ts";

/** A list of fewer items is read at once. */
const manyItems = 256;
const itemsATurn = 64;

/** A list of messages, and how the message holds it. */
interface LongList {
  readonly key: string;
  readonly list: readonly JsonValue[];
  readonly item: ValuePlan;
  readonly name: string;
  hold(items: unknown[]): unknown;
}

/** Throws a WireFault where the JSON does not fit; which one of several, and where, `readMessage` says. */
export function* readLongMessage<D extends DescMessage>(desc: D, json: JsonObject): Work<MessageShape<D>> {
  const rest: JsonObject = { ...json };
  const lists = longListsOf(planOf(desc), json);
  for (const { key } of lists) delete rest[key];
  const message = readMessage(desc, rest, { lenient: false }) as Record<string, unknown>;
  for (const { list, item, name, hold } of lists) {
    checkCount(list.length);
    const items: unknown[] = [];
    for (const value of list) {
      items.push(readItem(item, value));
      if (items.length % itemsATurn === 0) yield;
    }
    message[name] = hold(items);
  }
  return message as MessageShape<D>;
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

/** A list in a union is a message that stands for it. */
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
