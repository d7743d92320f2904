/**
 * Form bodies → the JSON that a client would have sent instead.
 *
 * A form has texts only, so the plan of the message decides what each means: `max_tokens=5` becomes a number, `input=007` stays
 * a text, `stream=True` is true. Content for a model stays a text even if it looks like a list; lists are repeated fields and
 * brackets. An empty `model` is left out, and `models` may be a list with commas. A text that does not fit its field's type
 * stays a text, and so does every unknown field. The codec then reads the result as any JSON, and refuses it with the same
 * paths. Refused here are only broken forms, and a repeated field that is no list.
 */
import type { DescMessage } from "@bufbuild/protobuf";
import { asRefusal } from "../../call/refusals.ts";
import { WireFault } from "../../wire/fault.ts";
import type { JsonObject, JsonValue } from "../../wire/json.ts";
import { type FieldPlan, type MessagePlan, planOf, type UnionPlan, type ValuePlan } from "../../wire/plan.ts";
import { holdsText, readList, readObject, readScalar, splitNames } from "./form-text.ts";
import { type FormNode, formTree, isList, itemsOf, membersOf, onlyText, type Pair } from "./form-tree.ts";
import { multipartPairs } from "./multipart.ts";
import { urlencodedPairs } from "./urlencoded.ts";

/** readForm reads application/x-www-form-urlencoded. Throws a Refusal. */
export function readForm(desc: DescMessage, body: Buffer): JsonObject {
  return jsonOf(desc, urlencodedPairs(body));
}

/** readMultipart reads the text fields of multipart/form-data. Throws a Refusal, also for a file. */
export function readMultipart(desc: DescMessage, contentType: string, body: Buffer): JsonObject {
  return jsonOf(desc, multipartPairs(contentType, body));
}

function jsonOf(desc: DescMessage, pairs: Iterable<Pair>): JsonObject {
  try {
    return messageOf(planOf(desc), formTree(pairs).children);
  } catch (error) {
    throw asRefusal(error);
  }
}

type Members = ReadonlyMap<string, FormNode>;

function messageOf(plan: MessagePlan, members: Members): JsonObject {
  return objectOf(members, (child, key) => {
    const member = plan.byKey.get(key);
    return member ? memberOf(member, child) : plainOf(child);
  });
}

/** The keys of content for a model. */
const contents: ReadonlySet<string> = new Set(["prompt", "input", "content", "system"]);

/** memberOf returns the value of a field, or undefined where the form leaves it out. */
function memberOf(member: FieldPlan | UnionPlan, written: FormNode): JsonValue | undefined {
  if (member.key === "model" && onlyText(written)?.trim() === "") return undefined;
  const node = member.key === "models" ? { ...written, texts: written.texts.flatMap(splitNames) } : written;
  if (member.kind === "union") return unionOf(member, node);
  if (member.shape === "one") return singleOf(member.value, node);
  if (member.shape === "map") {
    return objectOr(node, (members) => objectOf(members, (child) => singleOf(member.value, child)));
  }
  const text = onlyText(node);
  if (text === "") return undefined;
  if (text === "null") return null;
  return readList(text, member) ?? listOf(member, node);
}

/** Chooses the member of a union by how it is written: one text, repetition, or brackets. */
function unionOf(union: UnionPlan, node: FormNode): JsonValue | undefined {
  const text = onlyText(node);
  if (text !== undefined) return unionOfText(union, node, text);
  const notation = isList(node) ? "list" : node.children.size > 0 ? "object" : "texts";
  const list = listIn(union);
  if (list && notation !== "object") return listOf(list, node);
  const value = notation === "texts" ? scalarIn(union) : union.byType.get(notation)?.value;
  return value ? singleOf(value, node) : plainOf(node);
}

/** unionOfText reads one text as the scalar of a union, unless it is the JSON of a list or an object that the union allows. */
function unionOfText(union: UnionPlan, node: FormNode, text: string): JsonValue | undefined {
  const scalar = scalarIn(union);
  if (contents.has(union.key) && scalar) return singleOf(scalar, node);
  // Clients write null as the empty text, and an empty stop sequence would stop nothing.
  if (text === "" && union.key === "stop") return undefined;
  const list = listIn(union);
  const items = list ? readList(text, list) : undefined;
  if (items && items.length > 0) return items;
  const object = union.byType.has("object") ? readObject(text) : undefined;
  return object ?? (scalar ? singleOf(scalar, node) : readScalar({ kind: "raw" }, text));
}

function listIn(union: UnionPlan): FieldPlan | undefined {
  const value = union.byType.get("list")?.value;
  return value?.kind === "message" && value.plan.bare?.kind === "field" ? value.plan.bare : undefined;
}

function scalarIn({ byType }: UnionPlan): ValuePlan | undefined {
  return (byType.get("string") ?? byType.get("number") ?? byType.get("boolean"))?.value;
}

function singleOf(value: ValuePlan, node: FormNode): JsonValue | undefined {
  if (value.kind === "raw") return objectOr(node, (members) => objectOf(members, plainOf));
  if (value.kind === "message") {
    const { plan } = value;
    if (!plan.bare) return objectOr(node, (members) => messageOf(plan, members));
    // Where a message may be empty, the empty text means null.
    return memberOf(plan.bare, node) ?? (plan.mayBeEmpty ? null : undefined);
  }
  // Brackets make no scalar.
  const isScalar = node.children.size === 0 && !isList(node);
  return isScalar ? readScalar(value, singleText(node)) : plainOf(node);
}

/** objectOr returns the object of a node with brackets or of one text of JSON, and else the text. */
function objectOr(node: FormNode, ofMembers: (members: Members) => JsonObject): JsonValue | undefined {
  if (node.children.size > 0) return ofMembers(membersOf(node));
  const text = onlyText(node);
  return text === undefined ? plainOf(node) : (readObject(text) ?? readScalar({ kind: "raw" }, text));
}

function listOf({ value }: FieldPlan, node: FormNode): JsonValue {
  if (node.children.size > 0 && !isList(node)) return plainOf(node);
  return itemsOf(node).map((item, i) => {
    const text = holdsText(value) ? onlyText(item) : undefined;
    return text ?? within(i, () => singleOf(value, item)) ?? null;
  });
}

/** plainOf returns a value without a schema: a text, or the list or object that the brackets make. */
function plainOf(node: FormNode): JsonValue {
  if (isList(node)) return itemsOf(node).map((item, i) => within(i, () => plainOf(item)));
  if (node.children.size > 0) return objectOf(membersOf(node), plainOf);
  return singleText(node);
}

/** singleText throws a WireFault where there are several: a reader that takes the first and one that takes the last would disagree. */
function singleText({ texts }: FormNode): string {
  if (texts.length > 1) throw new WireFault("type", "the form has this field twice; write a list as `field[]`");
  return texts[0] as string;
}

/** within puts this key or index before the path of a fault in reading. */
function within<T>(segment: string | number, read: () => T): T {
  try {
    return read();
  } catch (fault) {
    throw fault instanceof WireFault ? fault.under(segment) : fault;
  }
}

function objectOf(members: Members, read: (node: FormNode, key: string) => JsonValue | undefined): JsonObject {
  const json: JsonObject = {};
  for (const [key, node] of members) {
    const value = within(key, () => read(node, key));
    if (value !== undefined) json[key] = value;
  }
  return json;
}
