/** Schemas as clients' languages write them. */
import { Ajv2020 as Ajv } from "ajv/dist/2020.js";
import { describe, expect, test } from "vitest";
import { repairedSchema } from "../../../src/families/tools/repaired-schema.ts";
import type { JsonValue } from "../../../src/wire/json.ts";

const text = { type: "string" };
const number = { type: "number" };

test("an empty list stands for an empty map, and null for nothing", () => {
  expect(repairedSchema({ type: "object", properties: [], required: null, additionalProperties: null })).toEqual({
    type: "object",
    properties: {},
  });
  const deep = { properties: { a: { type: "object", properties: [] }, b: { type: "array", items: [] }, c: [] } };
  expect(repairedSchema(deep)).toEqual({
    properties: { a: { type: "object", properties: {} }, b: { type: "array", items: {} }, c: {} },
  });
});

test("types in capitals are types", () => {
  const schema = {
    type: "OBJECT",
    properties: { a: { type: ["STRING", "NULL"] }, b: { anyOf: [{ type: "INTEGER" }] } },
  };
  expect(repairedSchema(schema)).toEqual({
    type: "object",
    properties: { a: { type: ["string", "null"] }, b: { anyOf: [{ type: "integer" }] } },
  });
});

test("values, and names of properties, stay", () => {
  const schema = {
    type: "object",
    properties: { type: { const: null }, properties: { default: [], enum: ["OBJECT", null] }, required: {} },
    required: [],
  };
  expect(repairedSchema(schema)).toBe(schema);
});

describe("a schema of an older draft, or of nobody's, is one of draft 2020-12:", () => {
  const draft = new Ajv({ strict: false, validateFormats: false });
  const property = (schema: JsonValue) => ({ type: "object", properties: { x: schema } });

  test.for([
    [
      "a list of items",
      { type: "array", items: [text, number] },
      { type: "array", items: {}, prefixItems: [text, number] },
    ],
    [
      "a closed list of items",
      { type: "array", items: [text], additionalItems: false },
      { type: "array", items: false, prefixItems: [text] },
    ],
    [
      "further items",
      { type: "array", items: [text], additionalItems: number },
      { type: "array", items: number, prefixItems: [text] },
    ],
    [
      "an exclusive bound",
      { type: "integer", minimum: 0, exclusiveMinimum: true, maximum: 9, exclusiveMaximum: false },
      { type: "integer", exclusiveMinimum: 0, maximum: 9 },
    ],
    ["an exclusive bound of nothing", { type: "integer", exclusiveMaximum: true }, { type: "integer" }],
    ["another language's type", { type: "int" }, { type: "integer" }],
    ["an id that is a fragment", { $id: "#a", ...text }, { ...text, description: '{$id: "#a"}' }],
    ["any type", { type: "any", description: "d" }, { description: "d" }],
    ["a type that nobody knows", { type: "date", description: "d" }, { description: 'd\n\n{type: "date"}' }],
    ["several types", { type: ["str", "string", "NULL"] }, { type: ["string", "null"] }],
    ["the name of a type", "number", { type: "number" }],
    ["a text", "the name", { description: "the name" }],
    ["a list", [1], {}],
    ["one word of several", { enum: "a" }, { enum: ["a"] }],
    ["words as a map, as PHP writes them", { enum: { 0: "a", 2: "b" } }, { enum: ["a", "b"] }],
    ["null for no words", { ...text, enum: null, examples: null }, text],
    ["null among types", { type: ["string", null] }, { type: ["string", "null"] }],
    ["any type among others", { type: ["string", "any"], description: "d" }, { description: "d" }],
    [
      "bounds as texts",
      { type: "string", minLength: "3", maxLength: "long" },
      { type: "string", minLength: 3, description: '{maxLength: "long"}' },
    ],
    [
      "impossible bounds",
      { type: "array", minItems: -1, items: text },
      { type: "array", items: text, description: "{minItems: -1}" },
    ],
    [
      "truths as texts",
      { type: "array", items: text, uniqueItems: "true" },
      { type: "array", items: text, uniqueItems: true },
    ],
    [
      "a description that is no text",
      { ...text, description: { a: 1 }, title: 5 },
      { ...text, title: "5", description: '{description: {"a":1}}' },
    ],
    ["alternatives without any", { ...text, anyOf: [] }, text],
    ["one alternative", { anyOf: text }, { anyOf: [text] }],
    ["an example", { ...text, examples: "a" }, { ...text, examples: ["a"] }],
    [
      "names demanded twice",
      { type: "object", properties: {}, required: ["a", "a", 5] },
      { type: "object", properties: {}, required: ["a"] },
    ],
    [
      "one name demanded",
      { type: "object", properties: { a: text }, required: "a" },
      { type: "object", properties: { a: text }, required: ["a"] },
    ],
    [
      "properties that are none",
      { type: "object", properties: "none" },
      { type: "object", description: '{properties: "none"}' },
    ],
    [
      "an open map as a text",
      { type: "object", additionalProperties: "string" },
      { type: "object", additionalProperties: text },
    ],
  ] as [string, JsonValue, JsonValue][])("%s", ([, schema, expected]) => {
    const given = property(schema);
    const repaired = repairedSchema(given);
    expect(repaired).toEqual(property(expected));
    expect(draft.validateSchema(repaired)).toBe(true);
    expect(repairedSchema(repaired)).toBe(repaired);
  });

  test("what means nothing is named by its path", () => {
    const lost: string[] = [];
    const schema = { properties: { x: { type: "array", items: { type: "date" } }, y: { anyOf: [{ maximum: "a" }] } } };
    repairedSchema(schema, "parameters", (path) => lost.push(path));
    const base = "parameters.properties";
    expect(lost).toEqual([`${base}.x.items.type`, `${base}.y.anyOf[0].maximum`]);
  });

  test("a property that is demanded itself", () => {
    const schema = { type: "object", properties: { a: { ...text, required: true }, b: { ...text, required: false } } };
    expect(repairedSchema(schema)).toEqual({ type: "object", properties: { a: text, b: text }, required: ["a"] });
    const inWords = { properties: { a: text, b: { ...text, required: "true" }, c: { ...text, required: "false" } } };
    expect(repairedSchema({ ...inWords, required: "a" })).toMatchObject({ required: ["a", "b"] });
  });

  test("one that is right already, also where it names keywords", () => {
    const schema = {
      $schema: "http://json-schema.org/draft-07/schema#",
      ...{ type: "object", required: ["type"], additionalProperties: false, minProperties: 1 },
      properties: {
        type: text,
        items: { type: ["string", "null"] },
        required: true,
        any: { const: "any", type: "string" },
      },
    };
    expect(repairedSchema(schema)).toBe(schema);
  });
});
