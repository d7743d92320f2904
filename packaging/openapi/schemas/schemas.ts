/**
 * Messages as JSON Schemas, by the plans by which `src/wire` reads and writes them: a schema says of the JSON what the gateway does
 * with it.
 *
 * - A required field of a request, and one that is always written in an answer, is `required`.
 * - A message that keeps unknown keys has `additionalProperties`, and null in the place of each of its other fields, for that is
 *   kept too. One that refuses unknown keys says so.
 * - An enum that is open takes any text beside its words.
 */
import { type DescEnum, type DescField, type DescMessage, type DescOneof, getOption } from "@bufbuild/protobuf";
import { untagged, word } from "../../../gen/modelgateway/v1/wire_pb.ts";
import { type FieldPlan, type MessagePlan, planOf, type UnionPlan, type ValuePlan } from "../../../src/wire/plan.ts";
import type { Words } from "../protos/words.ts";
import { boundsOf, enumNumbersOf, isRequired, itemBoundsOf } from "./bounds.ts";
import { type JsonSchema, orNull, refTo } from "./json-schema.ts";

export interface Schemas {
  /** Returns a reference to the schema of a message. */
  of(desc: DescMessage): JsonSchema;
  /** Returns the schemas of a message's members, by their public keys. */
  membersOf(desc: DescMessage): Readonly<Record<string, MemberSchema>>;
  /** Adds a schema of the document's own. Throws where the name is taken. */
  add(name: string, schema: JsonSchema): JsonSchema;
  /** Returns all schemas that are referred to, by their names in order. */
  all(): Readonly<Record<string, JsonSchema>>;
}

export interface MemberSchema {
  readonly schema: JsonSchema;
  readonly isRequired: boolean;
}

type Member = FieldPlan | UnionPlan;

/** `requests` are the messages that the gateway reads, with those inside them. */
export function createSchemas(words: Words, requests: readonly DescMessage[]): Schemas {
  const read = withParts(requests);
  const all = new Map<string, JsonSchema>();
  const owners = new Map<string, DescMessage | DescEnum>();
  /** Names a declaration, and makes its schema unless that is there or being made. */
  const named = (desc: DescMessage | DescEnum, make: () => JsonSchema): JsonSchema => {
    const { name } = desc;
    if (!owners.has(name)) {
      owners.set(name, desc);
      all.set(name, {});
      all.set(name, make());
    }
    if (owners.get(name) !== desc) throw new Error(`Two declarations are called ${name}.`);
    return refTo(name);
  };
  const of = (desc: DescMessage): JsonSchema => named(desc, () => messageSchema(desc, parts));
  const enumOf = (desc: DescEnum): JsonSchema => named(desc, () => enumSchema(desc, words));
  const parts: Parts = { words, of, enumOf, isRead: (desc) => read.has(desc) };
  return {
    of,
    membersOf: (desc) => membersOf(desc, parts),
    add(name, schema) {
      if (all.has(name)) throw new Error(`There is a schema ${name} already.`);
      all.set(name, schema);
      return refTo(name);
    },
    all: () => Object.fromEntries([...all].sort(([a], [b]) => (a < b ? -1 : 1))),
  };
}

interface Parts {
  readonly words: Words;
  readonly of: (desc: DescMessage) => JsonSchema;
  readonly enumOf: (desc: DescEnum) => JsonSchema;
  /** Reports whether the message is part of a request. */
  readonly isRead: (desc: DescMessage) => boolean;
}

function withParts(messages: readonly DescMessage[]): ReadonlySet<DescMessage> {
  const all = new Set(messages);
  for (const message of all) {
    for (const { message: part } of message.fields) if (part) all.add(part);
  }
  return all;
}

function messageSchema(desc: DescMessage, parts: Parts): JsonSchema {
  const { words } = parts;
  const plan = planOf(desc);
  const described = { description: words.describe(desc) };
  if (plan.bare) return { ...described, ...bareSchema(plan, plan.bare, parts) };
  const members = Object.entries(membersOf(desc, parts));
  const required = members.filter(([, member]) => member.isRequired).map(([key]) => key);
  return {
    ...described,
    type: "object",
    properties: Object.fromEntries(members.map(([key, { schema }]) => [key, schema])),
    ...(required.length > 0 ? { required } : {}),
    ...(plan.extra ? { additionalProperties: !refusesUnknown(plan, words) } : {}),
  };
}

/** A transparent message is the value of its member. The empty text stands for none. */
function bareSchema(plan: MessagePlan, bare: Member, parts: Parts): JsonSchema {
  const { description, ...schema } = memberSchema(plan.desc, bare, parts);
  return plan.mayBeEmpty ? { anyOf: [schema, { const: "" }] } : schema;
}

/** Reports whether null is read as the message in the member's place, empty. */
function readsNull(member: Member): boolean {
  if (member.kind === "union" || member.shape !== "one" || member.value.kind !== "message") return false;
  const { bare, mayBeEmpty } = member.value.plan;
  return mayBeEmpty || (bare?.kind === "union" && bare.byType.get("string")?.value.kind === "string");
}

function membersOf(desc: DescMessage, parts: Parts): Record<string, MemberSchema> {
  const plan = planOf(desc);
  // Null is kept beside the unknown keys. Where a request keeps none it is ignored, as they are.
  const keepsNull = plan.extra === undefined ? parts.isRead(desc) : !refusesUnknown(plan, parts.words);
  const entries = plan.members.map((member) => {
    const declared = declarationOf(desc, member);
    const required = isRequired(declared);
    const always = member.kind === "field" && member.always;
    const schema = memberSchema(desc, member, parts);
    const isNull = readsNull(member) || /JSON shows as null/.test(parts.words.describe(declared));
    const isNullable = !required && !always && (keepsNull || isNull);
    return [member.key, { schema: isNullable ? orNull(schema) : schema, isRequired: required || always }] as const;
  });
  return Object.fromEntries(entries);
}

function refusesUnknown({ desc, extra }: MessagePlan, words: Words): boolean {
  const field = desc.fields.find((one) => one.localName === extra);
  return field !== undefined && /is refused/.test(words.describe(field));
}

function declarationOf(desc: DescMessage, member: Member): DescField | DescOneof {
  const declared = desc.members.find((one) => one.localName === member.name);
  if (!declared) throw new Error(`${desc} has no member ${member.name}`);
  return declared;
}

function memberSchema(desc: DescMessage, member: Member, parts: Parts): JsonSchema {
  const declared = declarationOf(desc, member);
  const description = parts.words.describe(declared);
  const described = description === "" ? {} : { description };
  if (declared.kind === "oneof") return { ...described, ...unionSchema(declared, member as UnionPlan, parts) };
  const { shape, value, open } = member as FieldPlan;
  if (shape === "one")
    return { ...described, ...valueSchema(declared, value, open, boundsOf(declared, placesOf(value)), parts) };
  const items = valueSchema(declared, value, open, itemBoundsOf(declared), parts);
  if (shape === "list") return { ...described, type: "array", items, ...boundsOf(declared, 0) };
  return { ...described, type: "object", additionalProperties: items, ...boundsOf(declared, 0) };
}

function placesOf(value: ValuePlan): number {
  return value.kind === "decimal" ? value.places : 0;
}

function unionSchema(oneof: DescOneof, { byCase }: UnionPlan, parts: Parts): JsonSchema {
  if (!getOption(oneof, untagged)) throw new Error(`${oneof} is not untagged`);
  const choices = oneof.fields.map((field) => {
    const { value, open } = byCase.get(field.localName) ?? missing(field);
    const description = parts.words.describe(field);
    return {
      ...valueSchema(field, value, open, boundsOf(field, 0), parts),
      ...(description === "" ? {} : { description }),
    };
  });
  return { anyOf: choices.flatMap(({ anyOf, ...choice }) => (anyOf && !choice.type ? anyOf : [choice])) };
}

function missing(field: DescField): never {
  throw new Error(`${field} is no member of its union`);
}

function valueSchema(field: DescField, plan: ValuePlan, open: boolean, bounds: JsonSchema, parts: Parts): JsonSchema {
  switch (plan.kind) {
    case "string":
      return open ? { anyOf: [{ type: "string", ...bounds }, { type: "object" }] } : { type: "string", ...bounds };
    case "boolean":
      return { type: "boolean" };
    case "bytes":
      return { type: "string", contentEncoding: "base64" };
    case "double":
      return { type: "number", ...bounds };
    case "integer":
      return { type: "integer", minimum: plan.min, maximum: plan.max, ...bounds };
    case "decimal":
      return decimalSchema(field, plan.places, bounds, parts);
    case "timestamp":
      return { type: "string", format: "date-time" };
    case "enum":
      return openSchema(enumValueSchema(field, parts), open);
    case "message":
      return parts.of(plan.plan.desc);
    case "raw":
      return { type: "object", additionalProperties: true };
  }
}

/** An amount is written as a text, and read as a number too. */
function decimalSchema(field: DescField, places: number, bounds: JsonSchema, { isRead }: Parts): JsonSchema {
  const pattern = `^-?\\d+(\\.\\d{1,${places}})?$`;
  if (!isRead(field.parent)) return { type: "string", pattern };
  return { type: ["string", "number"], pattern, ...bounds };
}

function enumValueSchema(field: DescField, { enumOf }: Parts): JsonSchema {
  const desc = field.enum as DescEnum;
  const numbers = enumNumbersOf(field);
  if (!numbers) return enumOf(desc);
  const allowed = desc.values.filter(({ number }) => numbers.includes(number));
  return { type: "string", enum: allowed.map((value) => getOption(value, word)) };
}

function openSchema(schema: JsonSchema, open: boolean): JsonSchema {
  return open ? { anyOf: [schema, { type: "string" }] } : schema;
}

function enumSchema(desc: DescEnum, words: Words): JsonSchema {
  const values = desc.values
    .map((value) => ({ text: getOption(value, word), description: words.describe(value) }))
    .filter(({ text }) => text !== "");
  const list = values.map(({ text, description }) => `- \`${text}\`: ${description}`);
  return {
    description: `${words.describe(desc)}\n\n${list.join("\n")}`,
    type: "string",
    enum: values.map(({ text }) => text),
  };
}
