/** Names of arguments that the Messages API refuses are others there: in the schema, and back in the model's calls. */
import { expect, test } from "vitest";
import { withFitNames, withNamesIn } from "../../../src/families/chat-to-messages/property-names.ts";

const names = new Map([
  ["filter_id__1", "filter[id]"],
  ["more", 'say "so"'],
]);

test.each<[name: string, json: string, expected: string]>([
  ["numbers of any length", '{"filter_id__1":1234567890123456789}', '{"filter[id]":1234567890123456789}'],
  ["white space, and what is further in", '{ "filter_id__1" : {"more" :1.0}\n}', '{ "filter[id]" : {"more" :1.0}\n}'],
  ["strings like names", '{"a":"more","more":[{"more":"}\\""}]}', '{"a":"more","say \\"so\\"":[{"more":"}\\""}]}'],
  ["escapes in names", '{"\\u006dore":"ä","b":2}', '{"say \\"so\\"":"ä","b":2}'],
  ["the order of names", '{"more":1,"b":2,"filter_id__1":3}', '{"say \\"so\\"":1,"b":2,"filter[id]":3}'],
  ["no names", " {} ", " {} "],
  ["text that is cut off", '{"more":1', '{"more":1'],
  ["what is no object", '["more"]', '["more"]'],
])("the caller's names of arguments leave %s", (_, json, expected) => {
  expect(withNamesIn(json, names)).toBe(expected);
});

test("whatever refers to a renamed argument has its other name, or is left out and named", () => {
  const text = { type: "string" };
  const dropped: string[] = [];
  const { schema, names: found } = withFitNames(
    {
      type: "object",
      properties: { "a b": text, c: { $ref: "#/properties/a%20b" }, d: { properties: { "a b": text } } },
      required: ["a b", "c"],
      dependentRequired: { "a b": ["c"], c: ["a b"] },
      dependentSchemas: { "a b": { required: ["a b"] }, c: false },
      dependencies: { "a b": ["c"], c: { required: ["a b"] } },
      if: { properties: { "a b": { const: "a b" } }, propertyNames: { maxLength: 3 } },
      // biome-ignore lint/suspicious/noThenProperty: it is a keyword.
      then: { required: ["a b"] },
      else: true,
      allOf: [{ not: { required: ["a b"] } }, { $ref: "#/properties/a b/x" }],
      examples: [{ "a b": "a b" }],
      default: { "a b": "x", c: "x" },
      propertyNames: { pattern: "^[a-z ]+$" },
    },
    (keyword) => dropped.push(keyword),
  );
  const other = [...(found ?? [])].find(([, own]) => own === "a b")?.[0] ?? "";
  expect(other).toMatch(/^a_b_[0-9a-f]{8}$/);
  expect(schema).toEqual({
    type: "object",
    properties: { [other]: text, c: { $ref: `#/properties/${other}` }, d: { properties: { "a b": text } } },
    required: [other, "c"],
    dependentRequired: { [other]: ["c"], c: [other] },
    dependentSchemas: { [other]: { required: [other] }, c: false },
    dependencies: { [other]: ["c"], c: { required: [other] } },
    if: { properties: { [other]: { const: "a b" } } },
    // biome-ignore lint/suspicious/noThenProperty: it is a keyword.
    then: { required: [other] },
    else: true,
    allOf: [{ not: { required: [other] } }, { $ref: `#/properties/${other}/x` }],
    examples: [{ [other]: "a b" }],
    default: { [other]: "x", c: "x" },
  });
  expect(dropped).toEqual(["if.propertyNames", "propertyNames"]);
});
