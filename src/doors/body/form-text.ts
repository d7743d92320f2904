/**
 * Reads one text of a form by the type of its field.
 *
 * A text that does not fit the type is returned for the codec to refuse by its path. Blanks around a value count only in texts: files
 * and command lines end with a line break. Many encoders write null as the empty text, so it leaves out every field that is not a text
 * itself.
 */
import { WireFault } from "../../wire/fault.ts";
import { type JsonObject, type JsonValue, jsonType, parseJson } from "../../wire/json.ts";
import type { FieldPlan, ValuePlan } from "../../wire/plan.ts";
import { readMessage } from "../../wire/read.ts";

const truths = new Map([
  ...["true", "t", "yes", "y", "on", "1"].map((text) => [text, true] as const),
  ...["false", "f", "no", "n", "off", "0"].map((text) => [text, false] as const),
]);

/** Numbers as people write them: `.5`, `5.`, `+1`, `05`. No hexadecimal, no Infinity, no separators. */
const number = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;

/** Decimals are not rounded: `+.5` is `0.5`, and `5.` is `5`. */
const decimal = /^(?:\+|(-))?(\d*)(?:\.(\d*))?$/;

/** readScalar reads a scalar. Returns undefined where the empty text leaves the field out. */
export function readScalar(value: ValuePlan, text: string): JsonValue | undefined {
  if (value.kind === "string" || value.kind === "bytes") return text;
  const trimmed = text.trim();
  if (trimmed === "") return undefined;
  if (trimmed === "null") return null;
  if (value.kind === "boolean") return truths.get(trimmed.toLowerCase()) ?? text;
  if (value.kind === "decimal") return decimalOf(trimmed) ?? text;
  if ((value.kind === "integer" || value.kind === "double") && number.test(trimmed)) return Number(trimmed);
  return value.kind === "enum" || value.kind === "timestamp" ? trimmed : text;
}

/** decimalOf returns a text as a decimal, or undefined where it is none. */
function decimalOf(text: string): string | undefined {
  const [, sign = "", whole = "", fraction = ""] = decimal.exec(text) ?? [];
  if (whole === "" && fraction === "") return undefined;
  return `${sign}${whole === "" ? "0" : whole}${fraction === "" ? "" : `.${fraction}`}`;
}

/** splitNames splits a list of names at its commas, without the empty ones. The JSON of a list stays one text, and so do commas alone. */
export function splitNames(text: string): readonly string[] {
  if (!text.includes(",") || text.trimStart().startsWith("[")) return [text];
  const names = text.split(",").flatMap((name) => name.trim() || []);
  return names.length > 0 ? names : [text];
}

/**
 * readList reads a list that is written as one text of JSON. Returns undefined where the text is none. Where an item may be a text, the
 * whole may be one, too: then it is a list only if every item fits and all are of one kind.
 */
export function readList(text: string | undefined, { value }: FieldPlan): JsonValue[] | undefined {
  const read = holdsText(value) ? parsedOrText : parsed;
  const json = text?.startsWith("[") ? read(text) : undefined;
  if (!Array.isArray(json)) return undefined;
  return !holdsText(value) || areAlike(value, json) ? json : undefined;
}

/** readObject reads an object that is written as one text of JSON. Returns undefined where the text is none. */
export function readObject(text: string): JsonObject | undefined {
  const json = text.trimStart().startsWith("{") ? parsed(text) : undefined;
  return json as JsonObject | undefined;
}

/** holdsText reports whether a value of this type may be a text. */
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

/** parsed reads a text that may be JSON. Returns undefined where it is none. Throws a WireFault where it has a member twice. */
function parsed(text: string): JsonValue | undefined {
  try {
    return parseJson(Buffer.from(text), false);
  } catch (fault) {
    if (fault instanceof WireFault && fault.kind === "malformed") return undefined;
    throw fault;
  }
}

/** parsedOrText reads a text that may be JSON. Returns undefined for whatever is wrong with it. */
function parsedOrText(text: string): JsonValue | undefined {
  try {
    return parsed(text);
  } catch {
    return undefined;
  }
}
