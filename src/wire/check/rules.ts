/**
 * Compiles `buf.validate` annotations into quick checks. A check returns true only for values that surely keep the
 * bounds. Rules that are not known here accept nothing.
 */
import { type DescField, type DescMessage, getOption, hasOption } from "@bufbuild/protobuf";
import { type ReflectList, type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import {
  type FieldRules,
  FieldRulesSchema,
  field as fieldRules,
} from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";

/** SureCheck returns true where a value surely keeps its bounds. */
export type SureCheck<T = unknown> = (value: T) => boolean;

type Members = Readonly<Record<string, unknown>>;

/**
 * boundsOf returns the check of a field's own bounds, without those of a message in it; undefined where the field has none. Enums are
 * checked by number.
 */
export function boundsOf(field: DescField): SureCheck | undefined {
  if (!hasOption(field, fieldRules)) return undefined;
  const checks = ofRules(getOption(field, fieldRules), field);
  return checks.length > 1 ? all(checks) : checks[0];
}

const acceptNothing = () => false;

function all<T>(checks: readonly SureCheck<T>[]): SureCheck<T> {
  return (value) => {
    for (const check of checks) if (!check(value)) return false;
    return true;
  };
}

function everyItem(check: SureCheck): SureCheck {
  return (list) => {
    for (const item of list as readonly unknown[]) if (!check(item)) return false;
    return true;
  };
}

function everyValue(check: SureCheck): SureCheck {
  return (map) => Object.values(map as Members).every(check);
}

function ofRules(rules: FieldRules, field: DescField): SureCheck[] {
  const { type } = rules;
  const reflected = reflect(FieldRulesSchema, rules);
  const others = reflected.fields.filter(
    (rule) => reflected.isSet(rule) && rule.name !== "required" && rule.name !== type.case,
  );
  if (others.length > 0 || rules.$unknown) return [acceptNothing];
  if (type.case === undefined) return [];
  const bounds = reflect(FieldRulesSchema.field[type.case].message as DescMessage, type.value);
  if (bounds.message.$unknown) return [acceptNothing];
  const set = bounds.fields.filter((rule) => bounds.isSet(rule));
  return set.map(
    (rule) => knownRules.get(type.case as string)?.[rule.name]?.(bounds.get(rule), field) ?? acceptNothing,
  );
}

function ofRule(rules: unknown, field: DescField): SureCheck {
  return all(ofRules((rules as ReflectMessage).message as FieldRules, field));
}

/** Rules maps a rule's name to what makes the check from the rule's value. */
type Rules = Readonly<Record<string, (bound: unknown, field: DescField) => SureCheck>>;

const numberRules: Rules = {
  gt: (bound) => (value) => (value as number) > (bound as number),
  gte: (bound) => (value) => (value as number) >= (bound as number),
  lt: (bound) => (value) => (value as number) < (bound as number),
  lte: (bound) => (value) => (value as number) <= (bound as number),
};

/** Lengths here are in UTF-16 units. A character is one or two of them, and each is up to three bytes of UTF-8. */
const textRules: Rules = {
  max_len: atMost((text: string) => text.length),
  min_len: (bound) => (text) => (text as string).length / 2 > Number(bound) - 1,
  max_bytes: atMost((text: string) => 3 * text.length),
  pattern: (bound) => patternCheck(bound as string),
  email: (bound) => (bound === true ? isEmail : acceptNothing),
};

/**
 * Texts that are checked against patterns: short, of printable ASCII and of the letters that most names are in (Latin, Russian, Japanese,
 * Chinese, Korean), which all versions of Unicode's tables know alike.
 */
const plainText = /^[ -~\u00c0-\u024f\u0410-\u044f\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fa5\uac00-\ud7a3]{0,256}$/;

/**
 * patternCheck checks a pattern by JavaScript's engine, which tries again where RE2 does not. A pattern without groups, with at most two
 * repetitions, takes at most some 65,000 steps on a plain text. Where RE2 writes what JavaScript reads otherwise, `u` makes it an error.
 */
function patternCheck(pattern: string): SureCheck {
  const bare = pattern.replaceAll(/\\p\{\w+\}|\\./gi, "a").replaceAll(/\[[^\]]*\]/g, "a");
  if (bare.includes("(") || (bare.match(/[*+?{]/g) ?? []).length > 2) return acceptNothing;
  try {
    const expression = new RegExp(pattern, "u");
    return (text) => plainText.test(text as string) && expression.test(text as string);
  } catch {
    return acceptNothing;
  }
}

/** An address as the HTML standard has it, which is what protovalidate checks, and plain: https://html.spec.whatwg.org/multipage/input.html#valid-e-mail-address */
const address = /^[\w.!#$%&'*+/=?^`{|}~-]+@[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?(?:\.[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?)*$/i;

function isEmail(text: unknown): boolean {
  return plainText.test(text as string) && address.test(text as string);
}

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

const knownRules: ReadonlyMap<string, Rules> = new Map(
  Object.entries({
    uint32: numberRules,
    int64: numberRules,
    double: numberRules,
    string: textRules,
    enum: enumRules,
    repeated: listRules,
    map: mapRules,
  }),
);

function atMost<T>(sizeOf: (value: T) => number): (bound: unknown) => SureCheck {
  return (bound) => {
    const most = Number(bound);
    return (value) => sizeOf(value as T) <= most;
  };
}

function isAmong(values: Iterable<unknown>): SureCheck {
  const set = new Set(values);
  return (value) => set.has(value);
}
