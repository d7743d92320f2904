/**
 * Parses JSON so that free values keep the digits of their numbers. Free are the values that the gateway hands on between a caller, a model
 * and its tools: the input of a call, a schema, the metadata. All other numbers are doubles, which the gateway may calculate with.
 *
 * Only a long number that would not be written as it came gets another form (`exact-number.ts`), and only a text that has more than 15 digits
 * in a row is read a second time.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { exactNumber } from "./exact-number.ts";
import { parseJsonText } from "./parse-json-text.ts";

/** freeNames are the names under which an object is free. `input` is a call's, where it is no list or text. */
const freeNames: ReadonlySet<string> = new Set([
  ...["input", "args", "arguments", "metadata"],
  ...["parameters", "input_schema", "inputSchema", "schema", "json_schema", "structured_content", "structuredContent"],
]);

/** freeObject finds the beginning of a free object. Where all their names have escapes none is found, and all numbers are doubles. */
const freeObject = new RegExp(`"(?:${[...freeNames].join("|")})"\\s*:\\s*\\{`);

/** isFreeName reports whether an object of this name is free. */
export function isFreeName(name: string): boolean {
  return freeNames.has(name);
}

/** parseExactly returns the value of a text, of which all is free or what stands under a free name. Throws a SyntaxError. */
export function parseExactly(text: string, isFree = false): JsonValue {
  const value = parseJsonText(text);
  if (!hasLongNumber(text) || !(isFree || freeObject.test(text))) return value;
  const exact = exactValue(text);
  if (exact === undefined) return value;
  return isFree ? exact : withFree(value, exact);
}

/** The most digits of a number whose double surely has the same: a double tells any 15 apart. */
const certainDigits = 15;

/**
 * hasLongNumber reports whether more digits follow each other than a double surely holds, in a number or in a text. It looks at one
 * character of that many, and around a digit that it meets.
 */
export function hasLongNumber(text: string): boolean {
  for (let at = certainDigits; at < text.length; at += certainDigits + 1) {
    if (!isDigit(text.charCodeAt(at))) continue;
    let from = at;
    let to = at + 1;
    while (at - from < certainDigits && isDigit(text.charCodeAt(from - 1))) from--;
    while (to - from <= certainDigits && isDigit(text.charCodeAt(to))) to++;
    if (to - from > certainDigits) return true;
  }
  return false;
}

/** isDigit reports a digit, or the point among digits. */
function isDigit(code: number): boolean {
  return (code >= 0x30 && code <= 0x39) || code === 0x2e;
}

/** exactValue returns the value with every number exact that a double cannot hold; undefined where it is nested too deep for that. */
function exactValue(text: string): JsonValue | undefined {
  try {
    return parseJsonText(text, (_key, value, { source }) =>
      typeof value === "number" && source !== undefined && isBeyondDouble(value, source) ? exactNumber(source) : value,
    );
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** isBeyondDouble reports whether a double has other digits. A number beyond the largest double stays infinite, and is judged as such. */
function isBeyondDouble(value: number, source: string): boolean {
  return source.length > certainDigits && Number.isFinite(value) && `${value}` !== source;
}

/** withFree puts the free objects of `exact` into a value of the same text. It goes as deep as the value does. */
function withFree(value: JsonValue, exact: JsonValue): JsonValue {
  const left: (readonly [JsonValue, JsonValue])[] = [[value, exact]];
  for (let pair = left.pop(); pair; pair = left.pop()) {
    const [holder, source] = pair as unknown as readonly [JsonObject, JsonObject];
    const isList = Array.isArray(holder);
    for (const key of Object.keys(holder)) {
      const inner = holder[key];
      if (typeof inner !== "object" || inner === null) continue;
      const isFree = !isList && freeNames.has(key) && !Array.isArray(inner);
      if (isFree) holder[key] = source[key] as JsonValue;
      else left.push([inner, source[key] as JsonValue]);
    }
  }
  return value;
}
