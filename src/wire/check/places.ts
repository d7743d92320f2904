/**
 * Compiles what the wire reads of a message, and the bounds that `buf.validate` annotations set, into the places of its JSON,
 * for a quick check of what stands in them. A place that cannot be described so has nothing that may stand there.
 */
import { type DescField, type DescMessage, type DescOneof, getOption, hasOption } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import {
  field as fieldRules,
  message as messageRules,
  oneof as oneofRules,
} from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { type FieldPlan, type MessagePlan, planOf, type UnionPlan, type ValuePlan } from "../plan.ts";
import { boundsOf, type SureCheck } from "./rules.ts";

/** What may surely stand in a place, by its JSON type; null nowhere. */
export interface ValueSchema {
  readonly text: TextSchema | undefined;
  readonly number: NumberSchema | undefined;
  readonly isBoolean: boolean;
  readonly list: ListSchema | undefined;
  /** A list whose first item is a number, where that is read as another. */
  readonly numbers: ListSchema | undefined;
  readonly object: ObjectSchema | undefined;
}

export interface TextSchema {
  /** The words that keep their bounds; undefined: any text. */
  readonly words: ReadonlySet<string> | undefined;
  /** All that are known, where others are kept unread. */
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

/** A message, a map, or what no schema describes: that has neither `plan` nor `value`. */
export interface ObjectSchema {
  /** Of a message. */
  readonly plan: MessagePlan | undefined;
  readonly members: Map<string, MemberSchema>;
  /** How many members are needed; more than there are where it is never sure. */
  required: number;
  /** Of a map: what stands under each key. */
  readonly value: ValueSchema | undefined;
  readonly bounds: SureCheck | undefined;
}

export interface MemberSchema {
  readonly schema: ValueSchema;
  /** Whether the message is not sound without it. */
  readonly isRequired: boolean;
  /** Whether null says that it is not there. */
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
/** Message types whose members are still to be compiled: they may hold one another. */
const pending: ObjectSchema[] = [];

/** Returns the place of a message of this type, compiling it at the first call. */
export function schemaOf(desc: DescMessage): ValueSchema {
  const known = compiled.get(desc);
  if (known) return known;
  const place = schemaOfMessage(planOf(desc));
  for (let next = pending.pop(); next; next = pending.pop()) addMembers(next);
  return place;
}

function schemaOfMessage(plan: MessagePlan): ValueSchema {
  if (plan.bare) return schemaOfBare(plan, plan.bare);
  const known = compiled.get(plan.desc);
  if (known) return known;
  const object: ObjectSchema = { ...anyObject, plan, members: new Map<string, MemberSchema>() };
  const place = { ...nothingAccepted, object };
  compiled.set(plan.desc, place);
  pending.push(object);
  return place;
}

/** The message is no level of the JSON: its member stands in its place, and is always there. */
function schemaOfBare({ desc, mayBeEmpty }: MessagePlan, bare: FieldPlan | UnionPlan): ValueSchema {
  const [only] = desc.members;
  if (!only || mayBeEmpty || hasOption(desc, messageRules)) return nothingAccepted;
  if (only.kind === "oneof") return schemaOfUnion(only, bare as UnionPlan, hasOption(only, oneofRules));
  return isUndecidable(only) ? nothingAccepted : schemaOfField(only, bare as FieldPlan, false);
}

function addMembers(object: ObjectSchema): void {
  const { desc, byKey, zero } = object.plan as MessagePlan;
  if (hasOption(desc, messageRules) || desc.fields.some(isUndecidable)) object.required = Number.POSITIVE_INFINITY;
  for (const member of desc.members) {
    const plan = byKey.get(member.name);
    if (!plan) continue; // It keeps what no other can hold.
    const added =
      member.kind === "oneof" ? unionMember(member, plan as UnionPlan) : fieldMember(member, plan as FieldPlan, zero);
    object.members.set(plan.key, added);
    if (added.isRequired) object.required++;
  }
}

/** Whether a list or a zero was said a message cannot tell, and of a oneof's member not where another stands. */
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
  // Without a presence of its own its zero keeps the bounds, or does not.
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
  // Of an enum the bounds speak of numbers, which the words are not.
  if (bounds && value.kind === "enum") return nothingAccepted;
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
    case "boolean":
      return bounds ? nothingAccepted : { ...nothingAccepted, isBoolean: true };
    case "message":
      return bounds ? nothingAccepted : schemaOfMessage(value.plan);
    case "raw":
      return bounds ? nothingAccepted : { ...nothingAccepted, object: anyObject };
  }
  return nothingAccepted;
}

function schemaOfWord(
  numbers: ReadonlyMap<string, number>,
  bounds: SureCheck | undefined,
  isOpen: boolean,
): TextSchema {
  const words = [...numbers].filter(([, number]) => bounds?.(number) ?? true);
  return { words: new Set(words.map(([word]) => word)), known: isOpen ? numbers : undefined, bounds: undefined };
}
