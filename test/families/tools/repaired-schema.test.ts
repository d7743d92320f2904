/** Schemas as clients' languages write them. */
import { expect, test } from "vitest";
import { repairedSchema } from "../../../src/families/tools/repaired-schema.ts";

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
