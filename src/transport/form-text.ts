/**
 * What one text of a form stands for, by the type of its field.
 *
 * A text that does not read as the type is returned as it is, for the codec to refuse by its path. The empty text, which
 * many encoders write for null, stands for nothing wherever it is no text of its own.
 */
import { WireFault } from "../wire/fault.ts";
import type { JsonObject, JsonValue } from "../wire/json.ts";
import { jsonType, parseJson } from "../wire/json.ts";
import type { FieldPlan, ValuePlan } from "../wire/plan.ts";
import { readMessage } from "../wire/read.ts";

const truths = new Map([
  ...["true", "True", "TRUE", "1", "on"].map((text) => [text, true] as const),
  ...["false", "False", "FALSE", "0", "off"].map((text) => [text, false] as const),
]);

/** The grammar of JSON: no hexadecimal, no Infinity, no plus sign. */
const number = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** Returns undefined where the empty text leaves the field out. */
export function readScalar(value: ValuePlan, text: string): JsonValue | undefined {
  if (value.kind === "string" || value.kind === "bytes") return text;
  const trimmed = text.trim();
  if (trimmed === "") return undefined;
  if (trimmed === "null") return null;
  if (value.kind === "boolean") return truths.get(trimmed) ?? text;
  if ((value.kind === "integer" || value.kind === "double") && number.test(trimmed)) return Number(trimmed);
  return text;
}

/**
 * Reads a list that is written as one text of JSON; undefined where the text is none. Where an item may be a text, so
 * may the whole: it is a list only if every item fits and all are of one kind.
 */
export function readList(text: string | undefined, { value }: FieldPlan): JsonValue[] | undefined {
  const read = holdsText(value) ? parsedOrText : parsed;
  const json = text?.startsWith("[") ? read(text) : undefined;
  if (!Array.isArray(json)) return undefined;
  return !holdsText(value) || areAlike(value, json) ? json : undefined;
}

/** Reads a list, as `readList` does, where the text may be no list at all: only if the whole of it fits. */
export function readFitting(text: string, value: ValuePlan): JsonValue[] | undefined {
  const json = text.startsWith("[") ? parsedOrText(text) : undefined;
  return Array.isArray(json) && fits(value, json) ? json : undefined;
}

/** Reads an object that is written as one text of JSON; undefined where the text is none. */
export function readObject(text: string): JsonObject | undefined {
  const json = text.trimStart().startsWith("{") ? parsed(text) : undefined;
  return json as JsonObject | undefined;
}

/** Whether a value of this type may be a text. */
export function holdsText(value: ValuePlan): boolean {
  if (value.kind !== "message") return value.kind === "string" || value.kind === "bytes";
  return value.plan.bare?.kind === "union" && value.plan.bare.byType.has("string");
}

function areAlike(value: ValuePlan, items: readonly JsonValue[]): boolean {
  const kinds = new Set(items.map(jsonType));
  return kinds.size <= 1 && items.every((item) => fits(value, item));
}

function fits(value: ValuePlan, item: JsonValue): boolean {
  if (value.kind !== "message") return typeof item === "string";
  try {
    readMessage(value.plan.desc, item, { lenient: false });
    return true;
  } catch {
    return false;
  }
}

/** Reads a text that may be JSON; undefined where it is none. Throws the WireFault of what no body may say: a member twice. */
function parsed(text: string): JsonValue | undefined {
  try {
    return parseJson(Buffer.from(text), false);
  } catch (fault) {
    if (fault instanceof WireFault && fault.kind === "malformed") return undefined;
    throw fault;
  }
}

/** Reads a text that may be JSON, or stay a text. */
function parsedOrText(text: string): JsonValue | undefined {
  try {
    return parsed(text);
  } catch {
    return undefined;
  }
}
