/**
 * ValueSchema says which JSON values are surely valid in one position. It is compiled from the message's plan and its
 * `buf.validate` annotations. A position that cannot be described this way accepts nothing here; the reader and the
 * validator then decide.
 */
import { type DescField, type DescMessage, type DescOneof, getOption, hasOption } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import {
  field as fieldRules,
  message as messageRules,
  oneof as oneofRules,
} from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { parseDecimal } from "../../runtime/decimal.ts";
import { type FieldPlan, type MessagePlan, planOf, type UnionPlan, type ValuePlan } from "../plan.ts";
import { readTimestamp } from "../timestamp.ts";
import { boundsOf, type SureCheck } from "./rules.ts";

/** ValueSchema lists what is surely valid in a position, by JSON type. Null never is. */
export interface ValueSchema {
  readonly text: TextSchema | undefined;
  readonly number: NumberSchema | undefined;
  readonly isBoolean: boolean;
  readonly list: ListSchema | undefined;
  /** The list that is read when the first item is a number, where a union has one. */
  readonly numbers: ListSchema | undefined;
  readonly object: ObjectSchema | undefined;
}

export interface TextSchema {
  /** The enum words that are within bounds; undefined for free text. */
  readonly words: ReadonlySet<string> | undefined;
  /** All known enum words, where an open enum keeps unknown ones unread. */
  readonly known: ReadonlyMap<string, unknown> | undefined;
  readonly bounds: SureCheck | undefined;
}

export interface NumberSchema {
  readonly isWhole: boolean;
  readonly min: number;
  readonly max: number;
  readonly bounds: SureCheck | undefined;
}

export interface ListSchema {
  readonly item: ValueSchema;
  readonly isOfMessages: boolean;
  readonly bounds: SureCheck | undefined;
}

/** ObjectSchema describes a message, a map, or free JSON, which has neither `plan` nor `value`. */
export interface ObjectSchema {
  /** Set for a message. */
  readonly plan: MessagePlan | undefined;
  readonly members: Map<string, MemberSchema>;
  /** Number of required members; infinite where the quick check can never be sure. */
  required: number;
  /** Set for a map: the schema of each value. */
  readonly value: ValueSchema | undefined;
  readonly bounds: SureCheck | undefined;
}

export interface MemberSchema {
  readonly schema: ValueSchema;
  /** isRequired is whether the message is invalid without the member. */
  readonly isRequired: boolean;
  /** isNullable is whether null means that the member is unset. */
  readonly isNullable: boolean;
}

const nothingAccepted: ValueSchema = {
  text: undefined,
  number: undefined,
  isBoolean: false,
  list: undefined,
  numbers: undefined,
  object: undefined,
};

const anyText: TextSchema = { words: undefined, known: undefined, bounds: undefined };
const anyNumber = { isWhole: false, min: Number.NEGATIVE_INFINITY, max: Number.POSITIVE_INFINITY };
const anyObject: ObjectSchema = {
  plan: undefined,
  members: new Map<string, MemberSchema>(),
  required: 0,
  value: undefined,
  bounds: undefined,
};

const compiled = new Map<DescMessage, ValueSchema>();
/** Message types whose members are not compiled yet. Types may be recursive. */
const pending: ObjectSchema[] = [];

/** schemaOf returns the schema of a message type. It is compiled at the first call. */
export function schemaOf(desc: DescMessage): ValueSchema {
  const known = compiled.get(desc);
  if (known) return known;
  const schema = schemaOfMessage(planOf(desc));
  for (let next = pending.pop(); next; next = pending.pop()) addMembers(next);
  return schema;
}

function schemaOfMessage(plan: MessagePlan): ValueSchema {
  if (plan.bare) return schemaOfBare(plan, plan.bare);
  const known = compiled.get(plan.desc);
  if (known) return known;
  const object: ObjectSchema = { ...anyObject, plan, members: new Map<string, MemberSchema>() };
  const schema = { ...nothingAccepted, object };
  compiled.set(plan.desc, schema);
  pending.push(object);
  return schema;
}

/** A transparent message is no level of the JSON: its only member stands in its place and is always set. */
function schemaOfBare({ desc, mayBeEmpty }: MessagePlan, bare: FieldPlan | UnionPlan): ValueSchema {
  const [only] = desc.members;
  if (!only || hasOption(desc, messageRules)) return nothingAccepted;
  if (only.kind === "oneof") return schemaOfUnion(only, bare as UnionPlan, hasOption(only, oneofRules));
  if (isUndecidable(only)) return nothingAccepted;
  const schema = schemaOfField(only, bare as FieldPlan, false);
  return mayBeEmpty ? withoutEmptyText(schema) : schema;
}

/** withoutEmptyText leaves the empty text to the reader: it says that the field is unset. */
function withoutEmptyText(schema: ValueSchema): ValueSchema {
  if (!schema.text) return schema;
  const { bounds = () => true } = schema.text;
  return { ...schema, text: { ...schema.text, bounds: (text) => text !== "" && bounds(text) } };
}

function addMembers(object: ObjectSchema): void {
  const { desc, byKey, zero } = object.plan as MessagePlan;
  if (hasOption(desc, messageRules) || desc.fields.some(isUndecidable)) object.required = Number.POSITIVE_INFINITY;
  for (const member of desc.members) {
    const plan = byKey.get(member.name);
    if (!plan) continue; // The field `extra`, which no key names.
    const added =
      member.kind === "oneof" ? unionMember(member, plan as UnionPlan) : fieldMember(member, plan as FieldPlan, zero);
    object.members.set(plan.key, added);
    if (added.isRequired) object.required++;
  }
}

/**
 * isUndecidable reports whether a required field cannot be decided from a message: a message shows no difference between an empty list or a
 * zero and an unset one, nor the unset members of a oneof.
 */
function isUndecidable(field: DescField): boolean {
  const { required } = getOption(field, fieldRules);
  return required && (field.oneof !== undefined || isImplicit(field));
}

function isImplicit({ presence }: DescField): boolean {
  return presence === FeatureSet_FieldPresence.IMPLICIT;
}

function unionMember(oneof: DescOneof, plan: UnionPlan): MemberSchema {
  const isNeeded = hasOption(oneof, oneofRules);
  return { schema: schemaOfUnion(oneof, plan, isNeeded), isRequired: isNeeded, isNullable: !isNeeded };
}

function fieldMember(field: DescField, plan: FieldPlan, zero: MessagePlan["zero"]): MemberSchema {
  // A field without presence is required where its zero value is out of bounds.
  const isNeeded = isImplicit(field)
    ? boundsOf(field)?.(zero[field.localName]) === false
    : getOption(field, fieldRules).required;
  const mayReadNull = plan.shape === "one" && plan.value.kind === "message" && plan.value.plan.bare !== undefined;
  return {
    schema: schemaOfField(field, plan, plan.open && !isNeeded),
    isRequired: isNeeded,
    isNullable: !isNeeded && !mayReadNull,
  };
}

function schemaOfField(field: DescField, { shape, value }: FieldPlan, isOpen: boolean): ValueSchema {
  const bounds = boundsOf(field);
  if (shape === "one") return schemaOfValue(value, bounds, isOpen);
  // The bounds of an enum and of a decimal speak of numbers, and the JSON has texts.
  if (bounds && (value.kind === "enum" || value.kind === "decimal")) return nothingAccepted;
  const item = schemaOfValue(value, undefined, false);
  if (shape === "map") return { ...nothingAccepted, object: { ...anyObject, value: item, bounds } };
  return { ...nothingAccepted, list: { item, isOfMessages: value.kind === "message", bounds } };
}

function schemaOfUnion({ fields }: DescOneof, { byType, numberList }: UnionPlan, isNeeded: boolean): ValueSchema {
  const schemaOfCase = (member = byType.get("")) => {
    const field = fields.find(({ localName }) => localName === member?.case);
    return member && field ? schemaOfValue(member.value, boundsOf(field), member.open && !isNeeded) : nothingAccepted;
  };
  return {
    text: schemaOfCase(byType.get("string")).text,
    number: schemaOfCase(byType.get("number")).number,
    isBoolean: schemaOfCase(byType.get("boolean")).isBoolean,
    list: schemaOfCase(byType.get("list")).list,
    numbers: schemaOfCase(numberList).list,
    object: schemaOfCase(byType.get("object")).object,
  };
}

function schemaOfValue(value: ValuePlan, bounds: SureCheck | undefined, isOpen: boolean): ValueSchema {
  switch (value.kind) {
    case "string":
      return { ...nothingAccepted, text: { ...anyText, bounds } };
    case "enum":
      return { ...nothingAccepted, text: schemaOfWord(value.numbers, bounds, isOpen) };
    case "double":
      return { ...nothingAccepted, number: { ...anyNumber, bounds } };
    case "integer":
      return { ...nothingAccepted, number: { isWhole: true, min: value.min, max: value.max, bounds } };
    case "decimal":
      return { ...nothingAccepted, text: { ...anyText, bounds: amountCheck(value.places, bounds) } };
    case "timestamp":
      return bounds ? nothingAccepted : { ...nothingAccepted, text: { ...anyText, bounds: isTimestamp } };
    case "boolean":
      return bounds ? nothingAccepted : { ...nothingAccepted, isBoolean: true };
    case "message":
      return bounds ? nothingAccepted : schemaOfMessage(value.plan);
    case "raw":
      return bounds ? nothingAccepted : { ...nothingAccepted, object: anyObject };
  }
  return nothingAccepted;
}

/** amountCheck returns the check of a decimal's text. `bounds` are of units of the last place. A number is left to the reader. */
function amountCheck(places: number, bounds: SureCheck = () => true): SureCheck {
  return (text) => {
    const read = parseDecimal(text as string, places);
    return "value" in read && bounds(read.value);
  };
}

function isTimestamp(text: unknown): boolean {
  return readTimestamp(text as string) !== undefined;
}

function schemaOfWord(
  numbers: ReadonlyMap<string, number>,
  bounds: SureCheck | undefined,
  isOpen: boolean,
): TextSchema {
  const words = [...numbers].filter(([, number]) => bounds?.(number) ?? true);
  return { words: new Set(words.map(([word]) => word)), known: isOpen ? numbers : undefined, bounds: undefined };
}
