/**
 * Protobuf's own JSON, as Connect uses it, → message, in time slices: the result of `fromJson`, read one message at a time.
 */
import {
  type DescField,
  type DescMessage,
  fromJson,
  type JsonObject,
  type Message,
  ScalarType,
} from "@bufbuild/protobuf";
import type { CooperativeTask } from "../../runtime/cooperative.ts";
import { maxScanDepth } from "../bounds.ts";
import { WireFault } from "../fault.ts";
import { isFilledText, type JsonValue } from "../json.ts";
import { type FieldOfMessages, fieldValue, holdsJson, holdsMessages, setField } from "./nested.ts";

const messagesPerSlice = 64;
/** Items that are not messages are read so many at a time. */
const manyItems = 4096;

interface Reading {
  messages: number;
}

/** readProtoJson throws the errors of `fromJson` where the JSON does not fit, and a WireFault for a number that is no plain one. */
export function* readProtoJson(desc: DescMessage, json: JsonValue): CooperativeTask<Message> {
  return yield* messageOf(desc, json, 0, { messages: 0 });
}

function* messageOf(desc: DescMessage, json: JsonValue, depth: number, reading: Reading): CooperativeTask<Message> {
  if (++reading.messages % messagesPerSlice === 0) yield;
  if (depth > maxScanDepth || typeof json !== "object" || json === null || Array.isArray(json))
    return fromJson(desc, json);
  const fields = fieldsByName(desc);
  const rest: JsonObject = {};
  const nested: Nested[] = [];
  for (const [key, value] of Object.entries(json)) {
    const field = fields.get(key);
    if (field && isWhole(field)) checkDigits(field, value);
    if (field && isReadSeparately(field, value)) {
      nested.push({ field, value });
      // A placeholder marks the field as set, so that a second member of its oneof is refused.
      rest[key] = Array.isArray(value) ? [] : {};
    } else rest[key] = value;
  }
  const message = fromJson(desc, rest);
  for (const { field, value } of nested) {
    if (holdsJson(field)) setField(message, field, value);
    else if (!field.message) yield* putItems(message, desc, field, value as JsonValue[]);
    else if (field.fieldKind !== "list") setField(message, field, yield* inField(field, value, depth, reading));
    else
      for (const [at, item] of (value as JsonValue[]).entries())
        setField(message, field, yield* inField(field, item, depth, reading, at));
  }
  return message;
}

const wholeNumbers: ReadonlySet<ScalarType | undefined> = new Set([
  ...[ScalarType.INT32, ScalarType.SINT32, ScalarType.SFIXED32, ScalarType.UINT32, ScalarType.FIXED32],
  ...[ScalarType.INT64, ScalarType.SINT64, ScalarType.SFIXED64, ScalarType.UINT64, ScalarType.FIXED64],
]);

function isWhole({ fieldKind, scalar }: DescField): boolean {
  return (fieldKind === "scalar" || fieldKind === "list") && wholeNumbers.has(scalar);
}

/**
 * checkDigits throws a WireFault for a whole number in a text that has more than digits: `fromJson` takes what JavaScript does, as "0x10" for
 * 16, " 5 " and "1e3", and an amount of money is to mean the same to everybody.
 */
function checkDigits({ name }: DescField, value: JsonValue): void {
  for (const text of Array.isArray(value) ? value : [value]) {
    if (isFilledText(text) && !/^-?\d+$/.test(text))
      throw new WireFault("value", "expected a whole number in digits").under(name);
  }
}

/**
 * checkWholeNumbers throws a WireFault for a number of a message in JSON that is no plain one, at any depth. All else is for whoever reads the
 * message to refuse.
 */
export function checkWholeNumbers(desc: DescMessage, json: JsonValue, depth = 0): void {
  if (depth > maxScanDepth || typeof json !== "object" || json === null || Array.isArray(json)) return;
  const fields = fieldsByName(desc);
  for (const [key, value] of Object.entries(json)) {
    const field = fields.get(key);
    if (!field) continue;
    if (isWhole(field)) checkDigits(field, value);
    else if (holdsMessages(field)) checkMessages(field, value, depth + 1);
  }
}

function checkMessages({ message, name }: FieldOfMessages, value: JsonValue, depth: number): void {
  const isList = Array.isArray(value);
  for (const [at, item] of (isList ? value : [value]).entries()) {
    try {
      checkWholeNumbers(message, item, depth);
    } catch (error) {
      throw placed(error, name, isList ? at : undefined);
    }
  }
}

/** placed says in a WireFault in which field it was found, and in which item of a list. */
function placed(error: unknown, name: string, at: number | undefined): unknown {
  if (!(error instanceof WireFault)) return error;
  return (at === undefined ? error : error.under(at)).under(name);
}

function* putItems(
  message: Message,
  desc: DescMessage,
  field: DescField,
  list: readonly JsonValue[],
): CooperativeTask<void> {
  for (let at = 0; at < list.length; at += manyItems) {
    const some = fromJson(desc, { [field.jsonName]: list.slice(at, at + manyItems) });
    for (const item of fieldValue(some, field) as unknown[]) setField(message, field, item);
    yield;
  }
}

function* inField(
  field: DescField,
  value: JsonValue,
  depth: number,
  reading: Reading,
  at?: number,
): CooperativeTask<Message> {
  try {
    return yield* messageOf(field.message as DescMessage, value, depth + 1, reading);
  } catch (error) {
    throw placed(error, field.name, at);
  }
}

interface Nested {
  readonly field: DescField;
  readonly value: JsonValue;
}

/** isReadSeparately reports whether a field's content is read separately. Free JSON is not read at all. */
function isReadSeparately(field: DescField, value: JsonValue): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (holdsJson(field)) return !Array.isArray(value);
  if (field.fieldKind === "list" && !field.message) return Array.isArray(value) && value.length > manyItems;
  return holdsMessages(field) && (field.fieldKind === "list") === Array.isArray(value);
}

const byName = new WeakMap<DescMessage, ReadonlyMap<string, DescField>>();

/** fieldsByName maps both names of each field, the proto name and the JSON name. */
function fieldsByName(desc: DescMessage): ReadonlyMap<string, DescField> {
  let fields = byName.get(desc);
  if (!fields) {
    fields = new Map(
      desc.fields.flatMap((field) => [field.name, field.jsonName].map((name) => [name, field] as const)),
    );
    byName.set(desc, fields);
  }
  return fields;
}
