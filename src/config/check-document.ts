/** Checks a document against a schema, and says what a value should have been in the words of YAML instead of the validator's. */
import { z } from "zod";
import { nearestWord } from "../runtime/words/nearest-word.ts";
import type { ConfigDocument, Fault, Path } from "./document.ts";
import { type FaultReason, type Problem, problem, problemOf } from "./fault-texts.ts";

/** CheckMore finds faults that the schema cannot find. */
export type CheckMore = (document: ConfigDocument, faults: Fault[]) => void;

/** checkDocument returns what a document says, and adds its faults by their lines. Returns undefined if it has any. */
export function checkDocument<S extends z.ZodType>(
  document: ConfigDocument,
  schema: S,
  faults: Fault[],
  checkMore?: CheckMore,
): z.output<S> | undefined {
  const found = [...document.faults];
  let data: z.output<S> | undefined;
  if (document.value !== undefined) {
    for (const path of forbiddenKeys(document.value, []))
      found.push(document.keyFaultAt(path, problem("KEY_FORBIDDEN")));
    const result = schema.safeParse(document.value, { error: keysThere });
    data = result.data;
    if (!result.success) found.push(...document.excused);
    for (const issue of result.error?.issues ?? []) found.push(...faultsOf(issue, document));
    checkMore?.(document, found);
  }
  faults.push(...found.sort((a, b) => (a.line ?? 0) - (b.line ?? 0)));
  return found.length === 0 ? data : undefined;
}

function faultsOf(issue: z.core.$ZodIssue, document: ConfigDocument): Fault[] {
  const { path } = issue;
  if (issue.code === "unrecognized_keys") {
    const there = issue.message.split(" ");
    return issue.keys
      .filter((key) => key !== forbidden)
      .map((key, i) => document.keyFaultAt([...path, key], problemOfKey(key, i < mostMisspelt ? there : [])));
  }
  return document.isUnset(path) ? [] : [document.faultAt(path, problemOfIssue(issue))];
}

/** keysThere words an issue of unknown keys as the keys that there are. The validator's own words are for all other issues. */
const keysThere: z.core.$ZodErrorMap = ({ code, inst }) => {
  if (code !== "unrecognized_keys" || !(inst instanceof z.ZodObject)) return undefined;
  return Object.keys(inst.shape).join(" ");
};

/** mostMisspelt is of how many unknown keys of an object the nearest one is looked for. */
const mostMisspelt = 20;

/** problemOfKey returns the problem of an unknown key where these are there. */
function problemOfKey(key: string, there: readonly string[]): Problem {
  const near = nearestWord(key, there);
  return near === undefined ? problem("KEY_UNKNOWN") : problem("KEY_MISSPELT", { near });
}

/** problemOfIssue returns the problem of an issue: the schema's own where it has one. */
function problemOfIssue(issue: z.core.$ZodIssue): Problem {
  if (issue.code === "invalid_key") return problemOfIssue(issue.issues[0] as z.core.$ZodIssue);
  const own = issue.code === "custom" ? (issue.params?.problem as Problem | undefined) : undefined;
  return own ?? problemOf(issue.message) ?? builtInProblem(issue);
}

/** builtInProblem words what the validator finds by itself. */
function builtInProblem(issue: z.core.$ZodIssue): Problem {
  switch (issue.code) {
    case "invalid_type":
      return problem(issue.message.endsWith("received undefined") ? "MISSING" : typeReason(issue.expected));
    case "invalid_value": {
      const [value, ...others] = issue.values.map(String);
      return others.length === 0
        ? problem("VALUE_EXPECTED", { value: value ?? "" })
        : problem("ONE_OF_EXPECTED", { values: issue.values.map(String).join(", ") });
    }
    case "too_small":
      return tooSmall(issue);
    case "too_big":
      return tooBig(issue);
    case "invalid_format":
      if (issue.format === "date") return problem("DATE_EXPECTED");
  }
  return { ...problem("VALUE_INVALID"), text: issue.message };
}

/** typeReason returns the reason for values of the wrong type. */
function typeReason(expected: string) {
  return typeReasons[expected as keyof typeof typeReasons] ?? "KEYS_EXPECTED";
}

const typeReasons = {
  // Since version 1.2 of YAML, `yes` and `on` are strings.
  boolean: "BOOLEAN_EXPECTED",
  number: "NUMBER_EXPECTED",
  int: "WHOLE_NUMBER_EXPECTED",
  string: "TEXT_EXPECTED",
  array: "LIST_EXPECTED",
} as const satisfies Readonly<Record<string, FaultReason>>;

function tooSmall({ minimum: least, origin, inclusive }: z.core.$ZodIssueTooSmall): Problem {
  if (origin === "string") return problem("TOO_SHORT", { least: String(least) });
  if (origin === "array") return problem("TOO_FEW", { least: String(least) });
  return inclusive ? problem("TOO_SMALL", { least: String(least) }) : problem("NOT_ABOVE", { bound: String(least) });
}

function tooBig({ maximum: most, origin, inclusive }: z.core.$ZodIssueTooBig): Problem {
  if (origin === "string") return problem("TOO_LONG", { most: String(most) });
  if (origin === "array") return problem("TOO_MANY", { most: String(most) });
  return inclusive ? problem("TOO_LARGE", { most: String(most) }) : problem("NOT_BELOW", { bound: String(most) });
}

/** forbidden is a name that sets the prototype of an object: the schema would leave it out of a map without a word. */
const forbidden = "__proto__";

/** forbiddenKeys returns the paths of all keys of a document that no object can have. */
function forbiddenKeys(value: unknown, path: Path): Path[] {
  if (typeof value !== "object" || value === null) return [];
  if (Array.isArray(value)) return value.flatMap((one, i) => forbiddenKeys(one, [...path, i]));
  return Object.entries(value).flatMap(([key, one]) => [
    ...(key === forbidden ? [[...path, key]] : []),
    ...forbiddenKeys(one, [...path, key]),
  ]);
}
