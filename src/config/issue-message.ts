/** Says what a value of gateway.yaml should have been, in the words of YAML instead of the validator's. */
import type { z } from "zod";

/** messageFor returns the message of an issue: the schema's own where it has one. */
export function messageFor(issue: z.core.$ZodIssue): string | undefined {
  if (issue.code === "invalid_key") return issue.issues[0]?.message;
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
