/**
 * Compiles the bounds that `buf.validate` annotations set into a quick check, which is sure of most messages that they keep
 * them. It refuses nothing: of what it is not sure, and of every rule that it does not know, the validator decides.
 */
import {
  type DescField,
  type DescMessage,
  type DescOneof,
  getOption,
  hasOption,
  type Message,
} from "@bufbuild/protobuf";
import { type ReflectList, type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import {
  type FieldRules,
  FieldRulesSchema,
  field as fieldRules,
  message as messageRules,
  oneof as oneofRules,
} from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";

/** Whether it is sure that a value keeps its bounds. */
type IsSure<T = unknown> = (value: T) => boolean;

type Members = Readonly<Record<string, unknown>>;

const compiled = new Map<DescMessage, IsSure<Members>>();

/** Returns the check of a message type, compiling it at the first call. */
export function quickCheckOf(desc: DescMessage): IsSure<Message> {
  return ofMessage(desc) as IsSure as IsSure<Message>;
}

function ofMessage(desc: DescMessage): IsSure<Members> {
  const known = compiled.get(desc);
  if (known) return known;
  const members: IsSure<Members>[] = [];
  const isSure = all(members);
  compiled.set(desc, isSure); // Before its fields are read: message types may be recursive.
  if (hasOption(desc, messageRules)) members.push(unsure);
  for (const oneof of desc.oneofs) if (hasOption(oneof, oneofRules)) members.push(ofOneof(oneof));
  for (const field of desc.fields) if (isBounded(field)) members.push(ofField(field));
  return isSure;
}

const unsure = () => false;

function all<T>(checks: readonly IsSure<T>[]): IsSure<T> {
  return (value) => {
    for (const isSure of checks) if (!isSure(value)) return false;
    return true;
  };
}

/** Whether a rule says anything of a field or of what is in it. */
function isBounded(field: DescField, seen = new Set<DescMessage>()): boolean {
  if (hasOption(field, fieldRules)) return true;
  const { message } = field;
  if (!message || seen.has(message)) return false;
  seen.add(message);
  const isRuled = hasOption(message, messageRules) || message.oneofs.some((oneof) => hasOption(oneof, oneofRules));
  return isRuled || message.fields.some((inner) => isBounded(inner, seen));
}

function ofOneof({ localName }: DescOneof): IsSure<Members> {
  return (message) => (message[localName] as { case: string | undefined }).case !== undefined;
}

function ofField(field: DescField): IsSure<Members> {
  const { localName, oneof, presence } = field;
  const { required } = getOption(field, fieldRules);
  // Whether a list or a zero was said a message cannot tell.
  if (required && presence === FeatureSet_FieldPresence.IMPLICIT) return unsure;
  const isSure = ofValue(field);
  if (!oneof) return (message) => (message[localName] === undefined ? !required : isSure(message[localName]));
  return (message) => {
    const chosen = message[oneof.localName] as { case: string | undefined; value?: unknown };
    return chosen.case === localName ? isSure(chosen.value) : !required;
  };
}

function ofValue(field: DescField): IsSure {
  const checks = ofRules(getOption(field, fieldRules), field);
  if (field.message) {
    const inner = ofMessage(field.message) as IsSure;
    if (field.fieldKind === "message") checks.push(inner);
    else checks.push(field.fieldKind === "list" ? everyItem(inner) : everyValue(inner));
  }
  return checks.length === 1 ? (checks[0] as IsSure) : all(checks);
}

function everyItem(isSure: IsSure): IsSure {
  return (list) => {
    for (const item of list as readonly unknown[]) if (!isSure(item)) return false;
    return true;
  };
}

function everyValue(isSure: IsSure): IsSure {
  return (map) => Object.values(map as Members).every(isSure);
}

function ofRules(rules: FieldRules, field: DescField): IsSure[] {
  const { type } = rules;
  const told = reflect(FieldRulesSchema, rules);
  const others = told.fields.filter((rule) => told.isSet(rule) && rule.name !== "required" && rule.name !== type.case);
  if (others.length > 0 || rules.$unknown) return [unsure];
  if (type.case === undefined) return [];
  const bounds = reflect(FieldRulesSchema.field[type.case].message as DescMessage, type.value);
  if (bounds.message.$unknown) return [unsure];
  const set = bounds.fields.filter((rule) => bounds.isSet(rule));
  return set.map((rule) => knownRules[type.case as string]?.[rule.name]?.(bounds.get(rule), field) ?? unsure);
}

function ofRule(rules: unknown, field: DescField): IsSure {
  return all(ofRules((rules as ReflectMessage).message as FieldRules, field));
}

/** By the rule's name: makes the check from what the rule says of a field, or of what is in it. */
type Rules = Readonly<Record<string, (bound: unknown, field: DescField) => IsSure>>;

const numberRules: Rules = {
  gt: (bound) => (value) => (value as number) > (bound as number),
  gte: (bound) => (value) => (value as number) >= (bound as number),
  lt: (bound) => (value) => (value as number) < (bound as number),
  lte: (bound) => (value) => (value as number) <= (bound as number),
};

/** A character is one or two of the units in which a text's length is known, and these up to three bytes each. */
const textRules: Rules = {
  max_len: atMost((text: string) => text.length),
  min_len: (bound) => (text) => (text as string).length / 2 > Number(bound) - 1,
  max_bytes: atMost((text: string) => 3 * text.length),
};

const enumRules: Rules = {
  in: (bound) => isAmong(bound as ReflectList),
  not_in(bound) {
    const isAny = isAmong(bound as ReflectList);
    return (value) => !isAny(value);
  },
  defined_only: (_, field) => isAmong(field.enum?.values.map(({ number }) => number) ?? []),
};

const listRules: Rules = {
  max_items: atMost((list: readonly unknown[]) => list.length),
  min_items: (bound) => (list) => (list as readonly unknown[]).length >= Number(bound),
  items: (bound, field) => everyItem(ofRule(bound, field)),
};

const mapRules: Rules = {
  values: (bound, field) => everyValue(ofRule(bound, field)),
};

const knownRules: Readonly<Record<string, Rules>> = {
  ...{ uint32: numberRules, int64: numberRules, double: numberRules },
  ...{ string: textRules, enum: enumRules, repeated: listRules, map: mapRules },
};

function atMost<T>(sizeOf: (value: T) => number): (bound: unknown) => IsSure {
  return (bound) => {
    const most = Number(bound);
    return (value) => sizeOf(value as T) <= most;
  };
}

function isAmong(values: Iterable<unknown>): IsSure {
  const set = new Set(values);
  return (value) => set.has(value);
}
