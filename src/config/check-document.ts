/** Checks a document against a schema, and says what a value should have been in the words of YAML instead of the validator's. */
import type { z } from "zod";
import type { ConfigDocument, Fault } from "./document.ts";

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
    const result = schema.safeParse(document.value);
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
  if (issue.code === "unrecognized_keys")
    return issue.keys.map((key) => document.keyFaultAt([...path, key], "there is no such key"));
  return document.isUnset(path) ? [] : [document.faultAt(path, messageFor(issue))];
}

/** messageFor returns the message of an issue: the schema's own where it has one. */
function messageFor(issue: z.core.$ZodIssue): string {
  if (issue.code === "invalid_key") return issue.issues[0]?.message ?? issue.message;
  const isOfSchema = !/^(?:Invalid|Too) /.test(issue.message);
  if (isOfSchema) return issue.message;
  switch (issue.code) {
    case "invalid_type":
      return issue.message.endsWith("received undefined")
        ? "is missing"
        : (typeMessages.get(issue.expected) ?? issue.message);
    case "invalid_value":
      return `expected ${issue.values.length > 1 ? "one of " : ""}${issue.values.map(String).join(", ")}`;
    case "too_small":
      return `expected ${issue.inclusive ? "at least" : "more than"} ${issue.minimum}${things(issue.origin)}`;
    case "too_big":
      return `expected ${issue.inclusive ? "at most" : "less than"} ${issue.maximum}${things(issue.origin)}`;
  }
  return issue.message;
}

const keysAndValues = "expected keys and values, as gateway.example.yaml has them";

/** typeMessages are the messages for values of the wrong type. */
const typeMessages: ReadonlyMap<string, string> = new Map([
  // Since version 1.2 of YAML, `yes` and `on` are strings.
  ["boolean", "expected true or false, unquoted"],
  ["number", "expected a number, unquoted"],
  ["int", "expected a whole number"],
  ["string", "expected a text: put it in quotes"],
  ["array", "expected a list, as [a, b]"],
  ["object", keysAndValues],
  ["record", keysAndValues],
]);

/** things are what a bound counts. */
function things(origin: string): string {
  if (origin === "string") return " characters";
  return origin === "array" ? " entries" : "";
}
