/** The bounds of fields, from their `buf.validate` rules. A rule that is not known here stops the generator. */
import { type DescField, type DescOneof, getOption, hasOption } from "@bufbuild/protobuf";
import {
  type FieldRules,
  field as fieldRules,
  oneof as oneofRules,
} from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import type { JsonSchema } from "./json-schema.ts";

/** Reports whether a request must have the field. */
export function isRequired(member: DescField | DescOneof): boolean {
  if (member.kind === "oneof") return hasOption(member, oneofRules) && getOption(member, oneofRules).required;
  return rulesOf(member)?.required === true || minItems(member) > 0;
}

function minItems(field: DescField): number {
  const { type } = rulesOf(field) ?? {};
  return type?.case === "repeated" ? Number(type.value.minItems) : 0;
}

/** Returns the bounds of a field that is no list or map, or of the list or map itself. */
export function boundsOf(field: DescField, places: number): JsonSchema {
  const rules = rulesOf(field);
  return rules ? boundsBy(field, rules, places) : {};
}

/** Returns the bounds of the items of a list, or of the values of a map. */
export function itemBoundsOf(field: DescField): JsonSchema {
  const { type } = rulesOf(field) ?? {};
  if (type?.case === "repeated" && type.value.items) return boundsBy(field, type.value.items, 0);
  if (type?.case === "map" && type.value.values) return boundsBy(field, type.value.values, 0);
  return {};
}

/** Returns the numbers of an enum that a field may have; undefined where it may have all. */
export function enumNumbersOf(field: DescField): readonly number[] | undefined {
  const { type } = rulesOf(field) ?? {};
  return type?.case === "enum" && type.value.in.length > 0 ? type.value.in : undefined;
}

function rulesOf(field: DescField): FieldRules | undefined {
  return hasOption(field, fieldRules) ? getOption(field, fieldRules) : undefined;
}

/** The members of rules that are read, by their types. Others would be lost in silence. */
const known: Readonly<Record<string, readonly string[]>> = {
  string: ["minLen", "maxLen", "maxBytes", "pattern", "in"],
  repeated: ["minItems", "maxItems", "items"],
  map: ["values"],
  enum: ["definedOnly", "notIn", "in"],
  uint32: ["greaterThan", "lessThan"],
  int64: ["greaterThan", "lessThan"],
  double: ["greaterThan", "lessThan"],
};

function boundsBy(field: DescField, { type, cel }: FieldRules, places: number): JsonSchema {
  if (cel.length > 0) throw new Error(`${field} has a rule in CEL, which the document cannot express`);
  if (type.case === undefined) return {};
  checkKnown(field, type.case, type.value);
  switch (type.case) {
    case "string": {
      const { minLen, maxLen, maxBytes, pattern, in: words } = type.value;
      return {
        ...(minLen > 0n ? { minLength: Number(minLen) } : {}),
        ...(maxLen > 0n || maxBytes > 0n ? { maxLength: Number(maxLen || maxBytes) } : {}),
        ...(pattern === "" ? {} : { pattern: portable(field, pattern) }),
        ...(words.length > 0 ? { enum: words } : {}),
      };
    }
    case "repeated": {
      const { minItems: least, maxItems: most } = type.value;
      return { ...(least > 0n ? { minItems: Number(least) } : {}), ...(most > 0n ? { maxItems: Number(most) } : {}) };
    }
    case "uint32":
    case "int64":
    case "double": {
      const { greaterThan, lessThan } = type.value;
      const scaled = (value: number | bigint) => Number(value) / 10 ** places;
      return {
        ...(greaterThan.case === "gte" ? { minimum: scaled(greaterThan.value) } : {}),
        ...(greaterThan.case === "gt" ? { exclusiveMinimum: scaled(greaterThan.value) } : {}),
        ...(lessThan.case === "lte" ? { maximum: scaled(lessThan.value) } : {}),
        ...(lessThan.case === "lt" ? { exclusiveMaximum: scaled(lessThan.value) } : {}),
      };
    }
    default:
      return {};
  }
}

/** Unicode's categories, as the characters of Latin-1 that are in them. */
const categories: readonly (readonly [RegExp, string])[] = [
  [/\\P\{Cc\}/g, "[^\\x00-\\x1f\\x7f-\\x9f]"],
  [/\\p\{Cc\}/g, "\\x00-\\x1f\\x7f-\\x9f"],
  [/\\p\{Z\}/g, "\\x20\\xa0"],
  [/\\p\{Cf\}/g, "\\xad"],
];

/**
 * Returns a pattern without Unicode's categories, which many languages do not know: it takes a little more than the gateway's own.
 */
function portable(field: DescField, pattern: string): string {
  const replaced = categories.reduce(
    (text, [category, characters]) => text.replaceAll(category, () => characters),
    pattern,
  );
  if (/\\p\{/i.test(replaced)) throw new Error(`${field} has a pattern that the document cannot express: ${pattern}`);
  return replaced;
}

function checkKnown(field: DescField, kind: string, rules: object): void {
  const names = known[kind];
  if (!names) throw new Error(`${field} has rules for ${kind}, which the document cannot express`);
  const isSet = (value: unknown) =>
    Array.isArray(value)
      ? value.length > 0
      : typeof value === "object"
        ? (value as { case?: unknown }).case !== undefined
        : Boolean(value);
  const others = Object.entries(rules).filter(([name]) => !name.startsWith("$") && !names.includes(name));
  const lost = others.find(([, value]) => isSet(value));
  if (lost) throw new Error(`${field} has a rule \`${lost[0]}\`, which the document cannot express`);
}
