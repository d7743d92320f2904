/**
 * Compiles a message descriptor once into the plan that `read.ts` and `write.ts` follow.
 *
 * A descriptor whose JSON could not be restored after reading stops the start of the gateway. The rules are those of
 * `proto/modelgateway/v1/wire.proto`.
 */
import {
  create,
  type DescEnum,
  type DescField,
  type DescMessage,
  type DescOneof,
  getOption,
  ScalarType,
} from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import { type FieldWire, transparent, untagged, wire, word } from "../../gen/modelgateway/v1/wire_pb.ts";

/**
 * ValuePlan says what a single JSON value becomes. `raw` is a google.protobuf.Struct, which protobuf-es keeps as
 * plain JSON.
 */
export type ValuePlan =
  | { readonly kind: "string" }
  | { readonly kind: "boolean" }
  | { readonly kind: "bytes" }
  | { readonly kind: "double" }
  | { readonly kind: "integer"; readonly min: number; readonly max: number; readonly big: boolean }
  | { readonly kind: "decimal"; readonly places: number }
  | { readonly kind: "timestamp" }
  | ({ readonly kind: "enum" } & EnumWords)
  | { readonly kind: "message"; readonly plan: MessagePlan }
  | { readonly kind: "raw" };

/** EnumWords are the words of an enum and the numbers that they stand for. */
export interface EnumWords {
  readonly numbers: ReadonlyMap<string, number>;
  readonly words: ReadonlyMap<number, string>;
}

/** FieldPlan is a public key backed by one field. */
export interface FieldPlan {
  readonly kind: "field";
  readonly key: string;
  /** The property of the message object. */
  readonly name: string;
  readonly shape: "one" | "list" | "map";
  readonly value: ValuePlan;
  /** always is whether the field is written even at its zero value. */
  readonly always: boolean;
  /** open is whether unknown enum words are kept in `extra` instead of being refused. */
  readonly open: boolean;
}

/** UnionPlan is a public key whose JSON type chooses among the members of a oneof. */
export interface UnionPlan {
  readonly kind: "union";
  readonly key: string;
  readonly name: string;
  readonly byType: ReadonlyMap<string, UnionCase>;
  /** The case for a list of numbers. The list of `byType` may be another case. */
  readonly numberList: UnionCase | undefined;
  readonly byCase: ReadonlyMap<string, UnionCase>;
}

export interface UnionCase {
  readonly case: string;
  readonly value: ValuePlan;
  /** open is whether unknown enum words are kept in `extra` instead of being refused. */
  readonly open: boolean;
}

export interface MessagePlan {
  readonly desc: DescMessage;
  /** Set on a transparent message: the member that stands in its place. */
  bare: FieldPlan | UnionPlan | undefined;
  /**
   * mayBeEmpty is whether an empty string and null read as the message without its field: true for a transparent message around a
   * field with presence.
   */
  mayBeEmpty: boolean;
  readonly members: (FieldPlan | UnionPlan)[];
  readonly byKey: Map<string, FieldPlan | UnionPlan>;
  /** The property that keeps what no member can hold. */
  extra: string | undefined;
  /** The known keys by their lower-case spelling. */
  readonly byLowerKey: Map<string, string>;
  /**
   * The message before anything is read; each reading copies it. All copies share its empty lists, which are frozen.
   */
  readonly zero: Readonly<Record<string, unknown>>;
}

const plans = new Map<DescMessage, MessagePlan>();

/** planOf returns the plan of a message type. It is compiled at the first call. */
export function planOf(desc: DescMessage): MessagePlan {
  const known = plans.get(desc);
  if (known) return known;
  const plan: MessagePlan = {
    desc,
    bare: undefined,
    mayBeEmpty: false,
    members: [],
    byKey: new Map<string, FieldPlan | UnionPlan>(),
    extra: undefined,
    byLowerKey: new Map<string, string>(),
    zero: zeroOf(desc),
  };
  plans.set(desc, plan); // Before its fields are compiled: message types may be recursive.
  try {
    compile(plan);
  } catch (error) {
    plans.delete(desc); // An incomplete plan would let fields through as unknown keys.
    throw error;
  }
  return plan;
}

function zeroOf(desc: DescMessage): MessagePlan["zero"] {
  const zero = create(desc) as unknown as Record<string, unknown>;
  for (const value of Object.values(zero)) Object.freeze(value);
  return zero;
}

function compile(plan: MessagePlan): void {
  const { desc } = plan;
  for (const member of desc.members) {
    if (member.kind === "field" && getOption(member, wire).extra) {
      if (member.message?.typeName !== "google.protobuf.Struct")
        throw broken(member, "`extra` is no google.protobuf.Struct");
      if (plan.extra) throw broken(member, "a second `extra`");
      plan.extra = member.localName;
      continue;
    }
    const compiled = member.kind === "oneof" ? unionPlan(member) : fieldPlan(member);
    plan.members.push(compiled);
    plan.byKey.set(compiled.key, compiled);
    plan.byLowerKey.set(compiled.key.toLowerCase(), compiled.key);
  }
  if (getOption(desc, transparent)) {
    const [only, ...others] = plan.members;
    if (!only || others.length > 0 || plan.extra) throw broken(desc, "a transparent message has one member");
    plan.bare = only;
    plan.mayBeEmpty = only.kind === "field" && only.shape === "one" && !only.always;
  }
}

function fieldPlan(field: DescField): FieldPlan {
  const options = getOption(field, wire);
  const implicit = field.presence === FeatureSet_FieldPresence.IMPLICIT;
  if (options.always && !implicit) throw broken(field, "`always` is for fields without presence");
  if (implicit && !options.always && (field.fieldKind === "scalar" || field.fieldKind === "enum")) {
    throw broken(field, "a field without presence needs `always`");
  }
  const shape = field.fieldKind === "list" ? "list" : field.fieldKind === "map" ? "map" : "one";
  if (field.fieldKind === "map" && field.mapKey !== ScalarType.STRING) throw broken(field, "map keys are strings");
  const value = valuePlan(field, options);
  return {
    kind: "field",
    key: field.name,
    name: field.localName,
    shape,
    value,
    always: options.always,
    open: options.open,
  };
}

function unionPlan(oneof: DescOneof): UnionPlan {
  if (!getOption(oneof, untagged)) throw broken(oneof, "a oneof is untagged");
  const byType = new Map<string, UnionCase>();
  const byCase = new Map<string, UnionCase>();
  for (const field of oneof.fields) {
    const options = getOption(field, wire);
    const member = { case: field.localName, value: valuePlan(field, options), open: options.open };
    if (member.value.kind === "decimal") throw broken(field, "a decimal may be a string or a number");
    const type = jsonTypeOf(field);
    if (byType.has(type)) throw broken(field, `two members read ${type}`);
    byType.set(type, member);
    byCase.set(member.case, member);
  }
  const numbers = byType.get(numberList);
  byType.delete(numberList);
  // As the only list of the union it reads any list, so that a wrong item is reported with its own path.
  if (numbers && !byType.has("list")) byType.set("list", numbers);
  return { kind: "union", key: oneof.name, name: oneof.localName, byType, numberList: numbers, byCase };
}

const numberList = "list of numbers";

function valuePlan(field: DescField, { number, decimals }: FieldWire): ValuePlan {
  if (decimals !== 0) {
    if (field.scalar !== ScalarType.INT64 || number) throw broken(field, "`decimals` is for int64, without `number`");
    // Two places are always written and must be readable again.
    if (decimals < 2 || decimals > 9) throw broken(field, "`decimals` is 2 to 9");
    return { kind: "decimal", places: decimals };
  }
  if (field.message) {
    if (field.message.typeName === "google.protobuf.Timestamp") return { kind: "timestamp" };
    if (field.message.typeName === "google.protobuf.Struct" && field.fieldKind === "message") return { kind: "raw" };
    return { kind: "message", plan: planOf(field.message) };
  }
  if (field.enum) return { kind: "enum", ...enumWords(field.enum) };
  switch (field.scalar) {
    case ScalarType.STRING:
      return { kind: "string" };
    case ScalarType.BOOL:
      return { kind: "boolean" };
    case ScalarType.BYTES:
      return { kind: "bytes" };
    case ScalarType.DOUBLE:
      return { kind: "double" };
    case ScalarType.UINT32:
      return { kind: "integer", min: 0, max: 2 ** 32 - 1, big: false };
    case ScalarType.INT64:
      if (number) return { kind: "integer", min: Number.MIN_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER, big: true };
  }
  throw broken(field, "this type has no public form");
}

/** enumWords returns the public words of an enum. A value without a word has no public form. */
export function enumWords({ values }: DescEnum): EnumWords {
  const numbers = new Map<string, number>();
  const words = new Map<number, string>();
  for (const value of values) {
    const text = getOption(value, word);
    if (text === "") continue;
    numbers.set(text, value.number);
    words.set(value.number, text);
  }
  return { numbers, words };
}

/** jsonTypeOf reads the descriptor, because the plan of a recursive type is not finished yet. */
function jsonTypeOf(field: DescField): string {
  if (field.fieldKind === "list") return field.listKind === "scalar" && isNumber(field.scalar) ? numberList : "list";
  if (field.message && getOption(field.message, transparent)) return jsonTypeOf(field.message.fields[0] as DescField);
  if (field.message) return field.message.typeName === "google.protobuf.Timestamp" ? "string" : "object";
  if (field.fieldKind === "scalar" && isNumber(field.scalar)) return "number";
  return field.scalar === ScalarType.BOOL ? "boolean" : "string";
}

function isNumber(type: ScalarType): boolean {
  return type !== ScalarType.STRING && type !== ScalarType.BYTES && type !== ScalarType.BOOL;
}

function broken(where: DescMessage | DescField | DescOneof, why: string): Error {
  return new Error(`${where.toString()} cannot be written on the public wire: ${why}`);
}
