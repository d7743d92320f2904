/** Message → public JSON, by the message's plan: the inverse of `read.ts`. */
import type { DescMessage, JsonObject, JsonValue, MessageShape } from "@bufbuild/protobuf";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { formatDecimal } from "../runtime/decimal.ts";
import { type FieldPlan, type MessagePlan, planOf, type UnionPlan, type ValuePlan } from "./plan.ts";
import { putMember } from "./put-member.ts";
import { writeTimestamp } from "./timestamp.ts";

/** writeMessage writes a message as its public JSON value. */
export function writeMessage<D extends DescMessage>(desc: D, message: MessageShape<D>): JsonValue {
  return writePlanned(planOf(desc), message as unknown as Source);
}

/** writeItem writes an item of a list. */
export function writeItem(plan: ValuePlan, item: unknown): JsonValue {
  return writeValue(plan, item) ?? null;
}

type Source = Record<string, unknown>;

function writePlanned(plan: MessagePlan, source: Source): JsonValue {
  if (plan.bare?.kind === "union") return writeUnion(plan.bare, source) ?? null;
  if (plan.bare) {
    const value = source[plan.bare.name];
    return (value === undefined ? undefined : writeShape(plan.bare, value)) ?? null;
  }
  const extra = plan.extra ? (source[plan.extra] as JsonObject | undefined) : undefined;
  const json: JsonObject = {};
  for (const member of plan.members) {
    const value = member.kind === "union" ? writeUnion(member, source) : writeField(member, source, extra);
    if (value !== undefined) json[member.key] = value;
  }
  if (extra) {
    for (const key of Object.keys(extra)) if (!Object.hasOwn(json, key)) putMember(json, key, extra[key] as JsonValue);
  }
  return json;
}

function writeUnion(union: UnionPlan, source: Source): JsonValue | undefined {
  const chosen = source[union.name] as { case: string | undefined; value?: unknown };
  const member = chosen.case === undefined ? undefined : union.byCase.get(chosen.case);
  return member && writeValue(member.value, chosen.value, member.open);
}

function writeField(field: FieldPlan, source: Source, extra: JsonObject | undefined): JsonValue | undefined {
  const value = source[field.name];
  if (value === undefined) return undefined;
  // An empty list is written only where it must be. A value that was read in place of a zero is in `extra` and stays.
  const maybeAbsent = field.always ? extra && Object.hasOwn(extra, field.key) : field.shape !== "one";
  return maybeAbsent && isZero(value) ? undefined : writeShape(field, value);
}

function isZero(value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0;
  return typeof value === "object" ? Object.keys(value as object).length === 0 : !value;
}

function writeShape(field: FieldPlan, value: unknown): JsonValue | undefined {
  if (field.shape === "one") return writeValue(field.value, value, field.open);
  // Messages are not changed, so a long list of numbers need not be copied.
  if (field.shape === "list" && isWrittenAsItIs(field.value)) return value as JsonValue[];
  if (field.shape === "list") return (value as unknown[]).map((item) => writeItem(field.value, item));
  const map: JsonObject = {};
  for (const [key, item] of Object.entries(value as object)) putMember(map, key, writeValue(field.value, item) ?? null);
  return map;
}

function isWrittenAsItIs(plan: ValuePlan): boolean {
  return plan.kind === "string" || plan.kind === "double" || (plan.kind === "integer" && !plan.big);
}

/**
 * writeValue returns undefined for an unset enum, and for a number without a word where the enum is `open`. An RPC may send others that have
 * no public form, and Timestamps out of range. Left out, they would count as not sent, so they are written in a form that the reader of a
 * request refuses by its path.
 */
function writeValue(plan: ValuePlan, value: unknown, open = false): JsonValue | undefined {
  switch (plan.kind) {
    case "string":
    case "boolean":
    case "double":
    case "raw":
      return value as JsonValue;
    case "bytes":
      return Buffer.from(value as Uint8Array).toString("base64");
    case "integer":
      return plan.big ? Number(value) : (value as number);
    case "decimal":
      return formatDecimal(value as bigint, plan.places);
    case "timestamp":
      return writeTimestamp(value as Timestamp) ?? "out of range";
    case "enum":
      return plan.words.get(value as number) ?? (open || value === 0 ? undefined : (value as number));
    case "message":
      return writePlanned(plan.plan, value as Source);
  }
}
