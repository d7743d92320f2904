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
import { boundsOf, type IsSure } from "./rules.ts";

/** What may surely stand in a place, by its JSON type; null nowhere. */
export interface Place {
  readonly text: TextPlace | undefined;
  readonly number: NumberPlace | undefined;
  readonly isBoolean: boolean;
  readonly list: ListPlace | undefined;
  /** A list whose first item is a number, where that is read as another. */
  readonly numbers: ListPlace | undefined;
  readonly object: ObjectPlace | undefined;
}

export interface TextPlace {
  /** The words that keep their bounds; undefined: any text. */
  readonly words: ReadonlySet<string> | undefined;
  /** All that are known, where others are kept unread. */
  readonly known: ReadonlyMap<string, unknown> | undefined;
  readonly bounds: IsSure | undefined;
}

export interface NumberPlace {
  readonly isWhole: boolean;
  readonly min: number;
  readonly max: number;
  readonly bounds: IsSure | undefined;
}

export interface ListPlace {
  readonly item: Place;
  readonly isOfMessages: boolean;
  readonly bounds: IsSure | undefined;
}

/** A message, a map, or what no schema describes: that has neither `plan` nor `value`. */
export interface ObjectPlace {
  /** Of a message. */
  readonly plan: MessagePlan | undefined;
  readonly members: Map<string, MemberPlace>;
  /** How many members are needed; more than there are where it is never sure. */
  needed: number;
  /** Of a map: what stands under each key. */
  readonly value: Place | undefined;
  readonly bounds: IsSure | undefined;
}

export interface MemberPlace {
  readonly place: Place;
  /** Whether the message is not sound without it. */
  readonly isNeeded: boolean;
  /** Whether null says that it is not there. */
  readonly orNull: boolean;
}

const nowhere: Place = {
  text: undefined,
  number: undefined,
  isBoolean: false,
  list: undefined,
  numbers: undefined,
  object: undefined,
};

const anyText: TextPlace = { words: undefined, known: undefined, bounds: undefined };
const anyNumber = { isWhole: false, min: Number.NEGATIVE_INFINITY, max: Number.POSITIVE_INFINITY };
const anyObject: ObjectPlace = {
  plan: undefined,
  members: new Map<string, MemberPlace>(),
  needed: 0,
  value: undefined,
  bounds: undefined,
};

const compiled = new Map<DescMessage, Place>();
/** Message types whose members are still to be compiled: they may hold one another. */
const pending: ObjectPlace[] = [];

/** Returns the place of a message of this type, compiling it at the first call. */
export function placeOf(desc: DescMessage): Place {
  const known = compiled.get(desc);
  if (known) return known;
  const place = placeOfMessage(planOf(desc));
  for (let next = pending.pop(); next; next = pending.pop()) addMembers(next);
  return place;
}

function placeOfMessage(plan: MessagePlan): Place {
  if (plan.bare) return placeOfBare(plan, plan.bare);
  const known = compiled.get(plan.desc);
  if (known) return known;
  const object: ObjectPlace = { ...anyObject, plan, members: new Map<string, MemberPlace>() };
  const place = { ...nowhere, object };
  compiled.set(plan.desc, place);
  pending.push(object);
  return place;
}

/** The message is no level of the JSON: its member stands in its place, and is always there. */
function placeOfBare({ desc, mayBeEmpty }: MessagePlan, bare: FieldPlan | UnionPlan): Place {
  const [only] = desc.members;
  if (!only || mayBeEmpty || hasOption(desc, messageRules)) return nowhere;
  if (only.kind === "oneof") return placeOfUnion(only, bare as UnionPlan, hasOption(only, oneofRules));
  return isNeverSure(only) ? nowhere : placeOfField(only, bare as FieldPlan, false);
}

function addMembers(object: ObjectPlace): void {
  const { desc, byKey, zero } = object.plan as MessagePlan;
  if (hasOption(desc, messageRules) || desc.fields.some(isNeverSure)) object.needed = Number.POSITIVE_INFINITY;
  for (const member of desc.members) {
    const plan = byKey.get(member.name);
    if (!plan) continue; // It keeps what no other can hold.
    const added =
      member.kind === "oneof" ? unionMember(member, plan as UnionPlan) : fieldMember(member, plan as FieldPlan, zero);
    object.members.set(plan.key, added);
    if (added.isNeeded) object.needed++;
  }
}

/** Whether a list or a zero was said a message cannot tell, and of a oneof's member not where another stands. */
function isNeverSure(field: DescField): boolean {
  const { required } = getOption(field, fieldRules);
  return required && (field.oneof !== undefined || isImplicit(field));
}

function isImplicit({ presence }: DescField): boolean {
  return presence === FeatureSet_FieldPresence.IMPLICIT;
}

function unionMember(oneof: DescOneof, plan: UnionPlan): MemberPlace {
  const isNeeded = hasOption(oneof, oneofRules);
  return { place: placeOfUnion(oneof, plan, isNeeded), isNeeded, orNull: !isNeeded };
}

function fieldMember(field: DescField, plan: FieldPlan, zero: MessagePlan["zero"]): MemberPlace {
  // Without a presence of its own its zero keeps the bounds, or does not.
  const isNeeded = isImplicit(field)
    ? boundsOf(field)?.(zero[field.localName]) === false
    : getOption(field, fieldRules).required;
  const mayReadNull = plan.shape === "one" && plan.value.kind === "message" && plan.value.plan.bare !== undefined;
  return { place: placeOfField(field, plan, plan.open && !isNeeded), isNeeded, orNull: !isNeeded && !mayReadNull };
}

function placeOfField(field: DescField, { shape, value }: FieldPlan, isOpen: boolean): Place {
  const bounds = boundsOf(field);
  if (shape === "one") return placeOfValue(value, bounds, isOpen);
  // Of an enum the bounds speak of numbers, which the words are not.
  if (bounds && value.kind === "enum") return nowhere;
  const item = placeOfValue(value, undefined, false);
  if (shape === "map") return { ...nowhere, object: { ...anyObject, value: item, bounds } };
  return { ...nowhere, list: { item, isOfMessages: value.kind === "message", bounds } };
}

function placeOfUnion({ fields }: DescOneof, { byType, numbers }: UnionPlan, isNeeded: boolean): Place {
  const placeOfCase = (member = byType.get("")) => {
    const field = fields.find(({ localName }) => localName === member?.case);
    return member && field ? placeOfValue(member.value, boundsOf(field), member.open && !isNeeded) : nowhere;
  };
  return {
    text: placeOfCase(byType.get("string")).text,
    number: placeOfCase(byType.get("number")).number,
    isBoolean: placeOfCase(byType.get("boolean")).isBoolean,
    list: placeOfCase(byType.get("list")).list,
    numbers: placeOfCase(numbers).list,
    object: placeOfCase(byType.get("object")).object,
  };
}

function placeOfValue(value: ValuePlan, bounds: IsSure | undefined, isOpen: boolean): Place {
  switch (value.kind) {
    case "string":
      return { ...nowhere, text: { ...anyText, bounds } };
    case "enum":
      return { ...nowhere, text: placeOfWord(value.numbers, bounds, isOpen) };
    case "double":
      return { ...nowhere, number: { ...anyNumber, bounds } };
    case "integer":
      return { ...nowhere, number: { isWhole: true, min: value.min, max: value.max, bounds } };
    case "boolean":
      return bounds ? nowhere : { ...nowhere, isBoolean: true };
    case "message":
      return bounds ? nowhere : placeOfMessage(value.plan);
    case "raw":
      return bounds ? nowhere : { ...nowhere, object: anyObject };
  }
  return nowhere;
}

function placeOfWord(numbers: ReadonlyMap<string, number>, bounds: IsSure | undefined, isOpen: boolean): TextPlace {
  const words = [...numbers].filter(([, number]) => bounds?.(number) ?? true);
  return { words: new Set(words.map(([word]) => word)), known: isOpen ? numbers : undefined, bounds: undefined };
}
