/** Schemas for servers that know a part of JSON Schema stay of the length of what was sent, whatever refers to whatever how often. */
import type { JsonObject } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { fitTools } from "../../../src/providers/profile/schemas/fit-tools.ts";
import { rootedTools } from "../../../src/providers/profile/schemas/rooted-tools.ts";
import { runNow } from "../../../src/runtime/cooperative.ts";

const many = <T>(count: number, of: (i: number) => readonly [string, T]) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => of(i)));
const long = "d".repeat(50_000);
const itself = { allOf: [{ $ref: "#/$defs/a" }], properties: many(20_000, (i) => [`p${i}`, {}]) };

function fitted(parameters: JsonObject, schemas: "plain" | "nullable" = "plain") {
  const fits = runNow(fitTools([{ type: "function", function: { name: "f", parameters } }], { schemas }));
  const [tool] = (fits?.tools ?? []) as { function: { parameters: JsonObject } }[];
  return { parameters: tool?.function.parameters ?? parameters, dropped: fits?.dropped ?? [] };
}

test.each<[string, JsonObject]>([
  [
    "references to a long schema",
    {
      properties: many(1_900, (i) => [`p${i}`, { $ref: "#/$defs/b" }]),
      $defs: { b: { type: "object", description: long } },
    },
  ],
  ["types", { properties: { a: { type: Array.from({ length: 1_900 }, (_, i) => `t${i}`), not: { x: long } } } }],
  ["parts that hold themselves", { $ref: "#/$defs/a", $defs: { a: itself } }],
  [
    "parts of parts",
    {
      allOf: [{ $ref: "#/$defs/p0" }],
      properties: many(20_000, (i) => [`p${i}`, {}]),
      $defs: many(1_900, (i) => [`p${i}`, { allOf: [{ $ref: `#/$defs/p${i + 1}` }] }]),
    },
  ],
])("many %s become no longer than may be repeated", (_, schema) => {
  const [sent, { parameters }] = [JSON.stringify(schema).length, fitted(schema)];
  expect(JSON.stringify(parameters).length).toBeLessThan(sent + 600_000);
});

test("references as many as tools have are all resolved", () => {
  const place = { type: "object", properties: { x: { type: "number", description: "d".repeat(200) } } };
  const properties = many(200, (i) => [`p${i}`, { $ref: "#/$defs/place" }]);
  const { parameters, dropped } = fitted({ type: "object", properties, $defs: { place } });
  expect(parameters.properties).toEqual(many(200, (i) => [`p${i}`, place]));
  expect(dropped).toEqual([]);
});

test("a reference that is no URI's is taken as it is written", () => {
  const { parameters } = fitted({ properties: { a: { $ref: "#/$defs/100%" } }, $defs: { "100%": { type: "string" } } });
  expect(parameters).toEqual({ type: "object", properties: { a: { type: "string" } } });
});

test("what the values of a map are is told in words", () => {
  const values = { type: "object", additionalProperties: { type: "string" } };
  const { parameters, dropped } = fitted({ type: "object", properties: { a: values }, additionalProperties: false });
  const description = '{additionalProperties: {"type":"string"}}';
  expect(parameters).toEqual({ type: "object", properties: { a: { type: "object", description } } });
  expect(dropped).toEqual(["tools[0].function.parameters.properties.a.additionalProperties"]);
});

test("long names are cut where they are told", () => {
  const { dropped } = fitted({ type: "object", properties: { [long]: { type: "string", not: { enum: ["x"] } } } });
  expect(dropped).toHaveLength(1);
  expect(dropped[0]?.length).toBeLessThan(200);
});

const text = { type: "string" };
const number = { type: "number" };

/** mayBeNull are the ways to say that a value may be null, with what stays of each, and the keyword that is named. */
const mayBeNull: readonly (readonly [name: string, schema: JsonObject, plain: JsonObject, key: string])[] = [
  ["in a list of types", { type: ["string", "null"], maxLength: 9 }, { ...text, maxLength: 9 }, "type"],
  ["as its only type", { type: "null" }, text, "type"],
  ["as an alternative", { anyOf: [text, { type: "null" }], title: "A" }, { ...text, title: "A" }, "anyOf"],
  ["as one of several", { oneOf: [text, { const: null }, number] }, { anyOf: [text, number] }, "oneOf"],
  ["as a word", { type: "string", enum: ["a", null] }, { ...text, enum: ["a"] }, "enum"],
  ["by a keyword", { type: "string", nullable: true }, text, "nullable"],
  ["in a list of several types", { type: ["string", "null", "number"] }, { anyOf: [text, number] }, "type"],
];

test.each(mayBeNull)("that a value may be null, %s, is told in words and named", (_, schema, plain, key) => {
  const { parameters, dropped } = fitted({ type: "object", properties: { a: schema } });
  expect(parameters.properties).toEqual({ a: { ...plain, description: "{nullable: true}" } });
  expect(dropped).toEqual([`tools[0].function.parameters.properties.a.${key}`]);
});

test.each(mayBeNull)("that a value may be null, %s, is `nullable` where the server knows that", (_, schema, plain) => {
  const { parameters, dropped } = fitted({ type: "object", properties: { a: schema } }, "nullable");
  const alternatives = (plain.anyOf as JsonObject[] | undefined)?.map((one) => ({ ...one, nullable: true }));
  expect(parameters.properties).toEqual({ a: alternatives ? { anyOf: alternatives } : { ...plain, nullable: true } });
  expect(dropped).toEqual([]);
});

test("arguments that may be null are an object nevertheless", () => {
  const schema = { type: ["object", "null"], properties: { a: text } };
  expect(fitted(schema, "nullable").parameters).toEqual({ type: "object", properties: { a: text } });
});

test("a schema that says nothing of null stays the very one that came", () => {
  const parameters = { type: "object", properties: { a: text, b: { ...number, nullable: true } } };
  const tools = [{ type: "function", function: { name: "f", parameters } }];
  expect(runNow(fitTools(tools, { schemas: "nullable" }))).toBeUndefined();
});

test("patterns that a server cannot read are told in descriptions, however many and by whatever names", () => {
  const letters = { type: "string", pattern: "\\p{L}" };
  const properties = { ...many(20_000, (i) => [`p${i}`, letters]), enum: { type: "array", items: letters } };
  const dropped: string[] = [];
  const [tool] = runNow(
    rootedTools([{ type: "function", parameters: { type: "object", properties } }], "tools", dropped),
  );
  const described = { type: "string", description: '{pattern: "\\\\p{L}"}' };
  expect((tool as { parameters: JsonObject }).parameters.properties).toEqual({
    ...many(20_000, (i) => [`p${i}`, described]),
    enum: { type: "array", items: described },
  });
  expect(dropped).toHaveLength(20_001);
}, 20_000);

test("patterns in values stay as they are", () => {
  const values = { type: "object", properties: { a: { type: "object", default: { pattern: "\\p{L}" } } } };
  const tools = [{ type: "function", parameters: values }];
  expect(runNow(rootedTools(tools, "tools", []))).toEqual(tools);
});
