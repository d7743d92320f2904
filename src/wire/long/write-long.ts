/**
 * Message → public JSON, in time slices: the result of `writeMessage`, with the items of long lists written a few at a
 * time.
 */
import type { DescMessage, JsonObject, JsonValue, Message, MessageShape } from "@bufbuild/protobuf";
import type { CooperativeTask } from "../../runtime/cooperative.ts";
import { type FieldPlan, type MessagePlan, planOf, type UnionPlan, type ValuePlan } from "../plan.ts";
import { writeItem, writeMessage } from "../write.ts";

/** Shorter lists are written at once. */
const manyItems = 256;
const itemsPerYield = 64;

type Source = Readonly<Record<string, unknown>>;

/** LongList is a long list of messages. */
interface LongList {
  readonly key: string;
  readonly list: readonly unknown[];
  readonly item: ValuePlan;
  /** The message's property, and its value with the first item alone. */
  readonly name: string;
  readonly withFirst: unknown;
}

export function* writeLongMessage(desc: DescMessage, message: Message): CooperativeTask<JsonObject> {
  const source = message as unknown as Source;
  const lists = longListsOf(planOf(desc), source);
  // Writing the first item keeps the list's position among the members.
  const rest = { ...source, ...Object.fromEntries(lists.map(({ name, withFirst }) => [name, withFirst])) };
  const json = writeMessage(desc, rest as MessageShape<DescMessage>) as JsonObject;
  for (const { key, list, item } of lists) {
    const items: JsonValue[] = [];
    for (const value of list) {
      items.push(writeItem(item, value));
      if (items.length % itemsPerYield === 0) yield;
    }
    json[key] = items;
  }
  return json;
}

function longListsOf({ members }: MessagePlan, source: Source): LongList[] {
  return members.flatMap((member) => {
    const found = member.kind === "field" ? inField(member, source) : inUnion(member, source);
    if (found?.item.kind !== "message" || found.list.length < manyItems) return [];
    return [{ ...found, key: member.key, name: member.name }];
  });
}

type Found = Pick<LongList, "list" | "item" | "withFirst">;

function inField({ shape, value, name }: FieldPlan, source: Source): Found | undefined {
  const list = source[name];
  return shape === "list" && Array.isArray(list) ? { list, item: value, withFirst: list.slice(0, 1) } : undefined;
}

/** A list in a union is a transparent message around a list. */
function inUnion({ name, byCase }: UnionPlan, source: Source): Found | undefined {
  const chosen = source[name] as { readonly case: string | undefined; readonly value?: unknown };
  const plan = chosen.case === undefined ? undefined : byCase.get(chosen.case)?.value;
  const bare = plan?.kind === "message" ? plan.plan.bare : undefined;
  if (bare?.kind !== "field" || bare.shape !== "list") return undefined;
  const value = chosen.value as Source;
  const list = value[bare.name] as readonly unknown[];
  return {
    list,
    item: bare.value,
    withFirst: { case: chosen.case, value: { ...value, [bare.name]: list.slice(0, 1) } },
  };
}
