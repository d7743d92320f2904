/**
 * Protobuf's own JSON, as Connect has it, → message, in turns: what `fromJson` makes of it, one message at a time. Those in lists
 * and fields of others are read by themselves.
 */
import { type DescField, type DescMessage, fromJson, type JsonObject, type Message } from "@bufbuild/protobuf";
import type { Work } from "../work.ts";
import { deepest } from "./bounds.ts";
import type { JsonValue } from "./json.ts";
import { type FieldOfMessages, holdsMessages } from "./nested.ts";

const messagesATurn = 64;

interface Reading {
  messages: number;
}

/** Throws an Error where it does not fit, in the words of `fromJson`. */
export function* readProtoJson(desc: DescMessage, json: JsonValue): Work<Message> {
  return yield* messageOf(desc, json, 0, { messages: 0 });
}

function* messageOf(desc: DescMessage, json: JsonValue, depth: number, reading: Reading): Work<Message> {
  if (++reading.messages % messagesATurn === 0) yield;
  if (depth > deepest || typeof json !== "object" || json === null || Array.isArray(json)) return fromJson(desc, json);
  const fields = fieldsByName(desc);
  const rest: JsonObject = {};
  const nested: Nested[] = [];
  for (const [key, value] of Object.entries(json)) {
    const field = fields.get(key);
    const found = field && nestedIn(field, value);
    if (found) nested.push(found);
    // What stands in its place makes sure that it is there, and no other of its oneof is.
    rest[key] = found ? (found.isList ? [] : {}) : value;
  }
  const message = fromJson(desc, rest);
  const members = message as unknown as Record<string, unknown>;
  for (const { field, values, isList } of nested) {
    const read: Message[] = [];
    for (const value of values) read.push(yield* messageOf(field.message, value, depth + 1, reading));
    if (isList) members[field.localName] = read;
    else if (field.oneof) members[field.oneof.localName] = { case: field.localName, value: read[0] };
    else members[field.localName] = read[0];
  }
  return message;
}

interface Nested {
  readonly field: FieldOfMessages;
  readonly values: readonly JsonValue[];
  readonly isList: boolean;
}

function nestedIn(field: DescField, value: JsonValue): Nested | undefined {
  if (!holdsMessages(field) || typeof value !== "object" || value === null) return undefined;
  const isList = field.fieldKind === "list";
  if (isList !== Array.isArray(value)) return undefined;
  return { field, values: isList ? (value as JsonValue[]) : [value], isList };
}

const byName = new WeakMap<DescMessage, ReadonlyMap<string, DescField>>();

/** A field may be called by either of its names. */
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
