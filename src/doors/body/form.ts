/**
 * Form bodies → the JSON that a client would have sent instead.
 *
 * A form knows texts only, so the message's plan says what each stands for: `max_tokens=5` becomes a number,
 * `input=007` stays a text, `stream=True` is true. What a model is to read is the text that it is, also where it looks like a list:
 * lists are made of repeated fields and brackets. An empty `model` is none, and `models` may be a list with commas. A text that does not read as its field's type stays a text, and so
 * does every field that the plan does not name. Then the codec reads the result as it reads any JSON, and gives the same
 * verdict with the same path. Only what breaks the form itself is refused here, and a field that is there twice and is no list.
 */
import type { DescMessage } from "@bufbuild/protobuf";
import { asRefusal } from "../../call/refusals.ts";
import { WireFault } from "../../wire/fault.ts";
import type { JsonObject, JsonValue } from "../../wire/json.ts";
import { type FieldPlan, type MessagePlan, planOf, type UnionPlan, type ValuePlan } from "../../wire/plan.ts";
import { holdsText, namesApart, readList, readObject, readScalar } from "./form-text.ts";
import { type FormNode, formTree, isList, itemsOf, membersOf, onlyText, type Pair } from "./form-tree.ts";
import { multipartPairs } from "./multipart.ts";
import { urlencodedPairs } from "./urlencoded.ts";

/** Reads application/x-www-form-urlencoded. Throws a Refusal. */
export function readForm(desc: DescMessage, body: Buffer): JsonObject {
  return jsonOf(desc, urlencodedPairs(body));
}

/** Reads the text fields of multipart/form-data. Throws a Refusal, for a file too. */
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

/** What models read. */
const contents: ReadonlySet<string> = new Set(["prompt", "input", "content", "system"]);

/** Returns what stands for a field, or undefined where the form leaves it out. */
function memberOf(member: FieldPlan | UnionPlan, written: FormNode): JsonValue | undefined {
  if (member.key === "model" && onlyText(written)?.trim() === "") return undefined;
  const node = member.key === "models" ? { ...written, texts: written.texts.flatMap(namesApart) } : written;
  if (member.kind === "union") return unionOf(member, node);
  if (member.shape === "one") return singleOf(member.value, node);
  if (member.shape === "map") {
    return spelledOr(node, (members) => objectOf(members, (child) => singleOf(member.value, child)));
  }
  const text = onlyText(node);
  if (text === "") return undefined;
  if (text === "null") return null;
  return readList(text, member) ?? listOf(member, node);
}

/** Chooses as the client means it: one text, brackets and repetition tell the members of a union apart. */
function unionOf(union: UnionPlan, node: FormNode): JsonValue | undefined {
  const text = onlyText(node);
  if (text !== undefined) return unionOfText(union, node, text);
  const spelled = isList(node) ? "list" : node.children.size > 0 ? "object" : "texts";
  const list = listIn(union);
  if (list && spelled !== "object") return listOf(list, node);
  const value = spelled === "texts" ? scalarIn(union) : union.byType.get(spelled)?.value;
  return value ? singleOf(value, node) : plainOf(node);
}

/** One text is the scalar, unless it is the JSON of a list or an object that may stand here. */
function unionOfText(union: UnionPlan, node: FormNode, text: string): JsonValue | undefined {
  const scalar = scalarIn(union);
  if (contents.has(union.key) && scalar) return singleOf(scalar, node);
  // Clients write null as the empty text, and an empty text ends no output.
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
  if (value.kind === "raw") return spelledOr(node, (members) => objectOf(members, plainOf));
  if (value.kind === "message") {
    const { plan } = value;
    if (!plan.bare) return spelledOr(node, (members) => messageOf(plan, members));
    // Where a message may be empty, the empty text is what says so.
    return memberOf(plan.bare, node) ?? (plan.mayBeEmpty ? null : undefined);
  }
  // Brackets are no scalar.
  const isScalar = node.children.size === 0 && !isList(node);
  return isScalar ? readScalar(value, singleText(node)) : plainOf(node);
}

/** Returns the object that brackets spell, or that is written as one text of JSON. */
function spelledOr(node: FormNode, spelled: (members: Members) => JsonObject): JsonValue | undefined {
  if (node.children.size > 0) return spelled(membersOf(node));
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

/** What no schema describes: texts, and the lists and objects that brackets spell. */
function plainOf(node: FormNode): JsonValue {
  if (isList(node)) return itemsOf(node).map((item, i) => within(i, () => plainOf(item)));
  if (node.children.size > 0) return objectOf(membersOf(node), plainOf);
  return singleText(node);
}

/** Throws a WireFault where there are several: whoever reads the first would not read what is read here. */
function singleText({ texts }: FormNode): string {
  if (texts.length > 1) throw new WireFault("type", "the form has this field twice; write a list as `field[]`");
  return texts[0] as string;
}

/** Says of a fault in what is read that it lies under this key or index. */
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
