/**
 * Validates a request, in one place for every door: its JSON must fit the message, and the message must keep the bounds of its
 * `buf.validate` annotations. The refusal names the first fault, by its public path and in public names.
 */
import {
  type DescEnum,
  type DescField,
  type DescMessage,
  type DescMethod,
  type DescOneof,
  getOption,
  hasOption,
} from "@bufbuild/protobuf";
import type { Path } from "@bufbuild/protobuf/reflect";
import { createValidator, type Validator, type Violation } from "@bufbuild/protovalidate";
import {
  field as boundsOf,
  type FieldRules,
  type Int64Rules,
  type StringRules,
} from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { transparent, untagged, wire, word } from "../../../gen/modelgateway/v1/wire_pb.ts";
import { internal, invalidValue, missingField, Reason, Refusal } from "../../call/refusals.ts";
import { continuesThread } from "../../call/request/stored-thread.ts";
import type { CooperativeTask } from "../../runtime/cooperative.ts";
import { formatDecimal } from "../../runtime/decimal.ts";
import { counted } from "../../runtime/words/counted.ts";
import type { JsonObject } from "../../wire/json.ts";
import { planOf } from "../../wire/plan.ts";
import { Wire } from "../../wire/wire.ts";

/**
 * Validate checks a request against the contract. Throws a Refusal, or the WireFault of JSON that does not fit. `isUnsure` says that the
 * quick check was made without a result.
 */
export type Validate = (request: Wire, isUnsure?: boolean) => void;

/** QuickCheck recognizes most valid requests without making a message of them. It never refuses one. */
export interface QuickCheck {
  /** Compiles the checks of a message type. */
  prepare(desc: DescMessage): void;
  /** Reports whether a request is surely valid; false says nothing. */
  isSure(desc: DescMessage, json: JsonObject): boolean;
  /** Does the same for a long request, in time slices. */
  isLongSurelyValid(desc: DescMessage, json: JsonObject): CooperativeTask<boolean>;
}

/** The validator of the process: it keeps the rules that it has compiled, which are the same for every gateway. */
let compiled: Validator | undefined;

/**
 * Requests of which `quickCheck` is sure are not parsed into messages; without a quick check all are. Rules are compiled at their
 * first use, which takes milliseconds: `compileRules` does it beforehand.
 */
export function createValidate(quickCheck?: QuickCheck): Validate {
  return (request, isUnsure) => {
    if (quickCheck && !isUnsure && !request.isMessageOnly() && quickCheck.isSure(request.desc, request.outline()))
      return;
    decide(request);
  };
}

/**
 * compileRules compiles what the first call of each RPC would wait for: how its messages are read and written, and the rules of its request.
 * Throws where a rule is broken, or where the wire cannot carry a message.
 */
export function* compileRules(methods: readonly DescMethod[], quickCheck?: QuickCheck): CooperativeTask<void> {
  for (const { input, output } of methods) {
    planOf(output);
    yield;
    quickCheck?.prepare(input);
    try {
      decide(Wire.ofJson(input, {}));
    } catch (error) {
      // An empty request may be refused: this is only to compile the rules.
      if (!(error instanceof Refusal) || error.reason === Reason.INTERNAL) throw error;
    }
    yield;
  }
}

function decide(request: Wire): void {
  compiled ??= createValidator({ failFast: true, regexMatch: isMatch });
  const result = compiled.validate(request.desc, request.message());
  if (result.kind === "error") throw internal(result.error);
  if (result.kind !== "invalid") return;
  const violation = result.violations[0] as Violation;
  if (!goesOnWithNothing(violation, request)) throw refusalOf(violation, request);
  // The other rules hold as if something was said.
  decide(request.with({ messages: [{ role: "user", content: "" }] }));
}

/**
 * goesOnWithNothing reports whether a list is empty because a thread goes on with nothing new, as Anthropic's SDK sends it behind a pause: the
 * vendor has the unfinished turn.
 */
function goesOnWithNothing({ field, ruleId }: Violation, request: Wire): boolean {
  if (ruleId !== "repeated.min_items" || publicPath(field) !== "messages") return false;
  return !isAbsent(field, request) && continuesThread(request.json());
}

function refusalOf({ field, ruleId, message }: Violation, request: Wire): Refusal {
  const path = publicPath(field);
  const isEmpty = ruleId === "repeated.min_items";
  if (ruleId === "required" || (isEmpty && isAbsent(field, request))) return missingField(path);
  return invalidValue(path, boundWords(field, ruleId) ?? message);
}

/** isAbsent reports whether a list of the request was not sent at all. In the message, an empty list looks the same. */
function isAbsent([only, ...more]: Path, request: Wire): boolean {
  return only?.kind === "field" && more.length === 0 && (request.json()[only.name] ?? null) === null;
}

/** boundWords returns what a bound requires, in words, where the validator's own message would not help the caller. */
function boundWords(path: Path, ruleId: string): string | undefined {
  const field = path.findLast((step) => step.kind === "field");
  const { type } = field ? getOption(field, boundsOf) : {};
  if (field && type?.case === "int64") return amountWords(type.value, getOption(field, wire).decimals);
  if (field?.enum && type?.case === "enum") return `expected one of ${wordsOf(field.enum, type.value.in).join(", ")}`;
  const text = textRules(type);
  if (ruleId === "string.min_len" && text?.minLen === 1n) return "must not be empty";
  if (ruleId === "string.pattern" && text) return patterns.get(text.pattern)?.words;
  if (type?.case !== "repeated") return undefined;
  if (ruleId === "repeated.min_items" && type.value.minItems === 1n) return "must not be empty";
  return ruleId === "repeated.max_items" ? `expected at most ${counted(type.value.maxItems ?? 0n, "item")}` : undefined;
}

/** textRules returns the rules of a text, or of the texts in a list. */
function textRules(type: FieldRules["type"] | undefined): StringRules | undefined {
  const rules = type?.case === "repeated" ? type.value.items?.type : type;
  return rules?.case === "string" ? rules.value : undefined;
}

/** Pattern is a pattern of the contract. */
interface Pattern {
  readonly expression: RegExp;
  /** The words of the refusal, in place of the expression, which few callers can read. */
  readonly words: string;
}

/**
 * patterns are all of the contract. JavaScript's engine takes as many steps on them as a text is long: what a repetition takes, what
 * follows it refuses. The validator's own engine would first look for every character there is that is `\p{Z}`, for a tenth of a second.
 */
const patterns: ReadonlyMap<string, Pattern> = new Map(
  Object.entries({
    "^\\P{Cc}*$": "must not have control characters, such as line breaks",
    "^[\\p{Z}\\p{Cf}]*[^\\p{Z}\\p{Cf}\\p{Cc}]\\P{Cc}*$":
      "must be more than blanks, without control characters, such as line breaks",
  }).map(([pattern, words]) => [pattern, { expression: new RegExp(pattern, "u"), words }]),
);

/** isMatch throws where a pattern is none of `patterns`: the rule that has it does not compile. */
function isMatch(pattern: string, text: string): boolean {
  const known = patterns.get(pattern);
  if (!known) throw new Error(`the pattern ${pattern} is not among those of src/pipeline/check/validate.ts`);
  return known.expression.test(text);
}

/** amountWords returns the bounds of an amount as decimals, as amounts are written. Other numbers have no decimals. */
function amountWords({ greaterThan, lessThan }: Int64Rules, places: number): string | undefined {
  if (places === 0 || greaterThan.case === undefined || lessThan.case !== "lte") return undefined;
  const [least, most] = [formatDecimal(greaterThan.value, places), formatDecimal(lessThan.value, places)];
  return greaterThan.case === "gte"
    ? `must be from ${least} to ${most}`
    : `must be more than ${least}, at most ${most}`;
}

/** wordsOf returns the public names of an enum's values: of these numbers, or of all. */
function wordsOf({ values }: DescEnum, numbers: readonly number[]): string[] {
  const allowed = numbers.length === 0 ? values : values.filter(({ number }) => numbers.includes(number));
  return allowed.map((value) => getOption(value, word)).filter((text) => text !== "");
}

/** publicPath returns the path in the public JSON for a path in the message. */
function publicPath(path: Path): string {
  let text = "";
  for (const step of path) {
    if (step.kind === "list_sub") text += `[${step.index}]`;
    else if (step.kind === "map_sub") text += `.${String(step.key)}`;
    else if (step.kind !== "extension") text += publicStep(step, text === "");
  }
  return text;
}

function publicStep(step: DescField | DescOneof, first: boolean): string {
  if (step.kind === "field" && hasOption(step.parent, transparent) && getOption(step.parent, transparent)) return "";
  const union = step.kind === "field" && step.oneof && getOption(step.oneof, untagged) ? step.oneof : undefined;
  return `${first ? "" : "."}${(union ?? step).name}`;
}
