import { isIPv4, isIPv6 } from "node:net";
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { instanceOf } from "../../src/embedded/schema/instance.ts";
import type { JsonObject, JsonValue } from "../../src/wire/json.ts";

const formats: Record<string, (text: string) => boolean> = {
  date: (text) => /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text)),
  "date-time": (text) => /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/.test(text) && !Number.isNaN(Date.parse(text)),
  time: (text) => /^\d{2}:\d{2}:\d{2}Z$/.test(text),
  email: (text) => /^[^@\s]+@[^@\s]+\.[^@\s]+$/.test(text),
  uri: (text) => URL.canParse(text),
  uuid: (text) => /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(text),
  ipv4: isIPv4,
  ipv6: isIPv6,
  hostname: (text) => /^[a-z0-9-]+(\.[a-z0-9-]+)*$/.test(text),
};

const ajv = new Ajv2020({ strict: false, logger: false, formats });

/** Returns the instance, checked against the schema by an independent validator. */
function instance(schema: JsonValue, word = "Oslo", place = 0): JsonValue | undefined {
  const value = instanceOf(schema, { word, place });
  if (value !== undefined && !ajv.validate(schema as JsonObject, value))
    throw new Error(`${JSON.stringify(value)} is not valid`);
  return value;
}

const node = { type: "object", properties: { value: { type: "string" } }, required: ["value", "next"] };

const realistic: Record<string, JsonObject> = {
  "a weather tool": {
    type: "object",
    properties: {
      location: { type: "string", description: "City and country" },
      unit: { type: "string", enum: ["celsius", "fahrenheit"] },
      days: { type: "integer", minimum: 1, maximum: 14 },
    },
    required: ["location", "unit"],
    additionalProperties: false,
  },
  "Zod: a strict object with an email, a date and a union": {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    properties: {
      email: {
        type: "string",
        format: "email",
        pattern:
          "^(?!\\.)(?!.*\\.\\.)([A-Za-z0-9_'+\\-\\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\\-]*\\.)+[A-Za-z]{2,}$",
      },
      at: { type: "string", format: "date-time" },
      id: {
        anyOf: [
          { type: "string", format: "uuid" },
          { type: "integer", exclusiveMinimum: 0, maximum: 9007199254740991 },
        ],
      },
      role: { default: "reader", type: "string", enum: ["owner", "reader"] },
    },
    required: ["email", "at", "id", "role"],
    additionalProperties: false,
  },
  "Zod: a record with a bound on its keys": {
    type: "object",
    propertyNames: { type: "string", minLength: 2 },
    additionalProperties: { type: "number", minimum: 0.5, exclusiveMaximum: 0.75 },
    minProperties: 3,
  },
  "Zod: a discriminated union": {
    oneOf: [
      {
        type: "object",
        properties: { kind: { const: "circle", type: "string" }, r: { type: "number" } },
        required: ["kind", "r"],
      },
      {
        type: "object",
        properties: { kind: { const: "square", type: "string" }, a: { type: "number" } },
        required: ["kind", "a"],
      },
    ],
  },
  "Zod: a tuple": {
    type: "array",
    prefixItems: [{ type: "string" }, { type: "integer" }],
    items: { type: "boolean" },
    minItems: 2,
  },
  "pydantic: definitions, optionals and titles": {
    $defs: {
      Address: {
        properties: {
          street: { title: "Street", type: "string" },
          zip: { pattern: "^\\d{5}(-\\d{4})?$", type: "string" },
        },
        required: ["street", "zip"],
        title: "Address",
        type: "object",
      },
      Colour: { enum: ["red", "green"], title: "Colour", type: "string" },
    },
    properties: {
      name: { maxLength: 40, minLength: 1, title: "Name", type: "string" },
      address: { $ref: "#/$defs/Address" },
      colour: { allOf: [{ $ref: "#/$defs/Colour" }], default: "red" },
      age: { anyOf: [{ exclusiveMinimum: 0, type: "integer" }, { type: "null" }], default: null, title: "Age" },
      tags: { items: { type: "string" }, minItems: 2, title: "Tags", type: "array", uniqueItems: true },
    },
    required: ["name", "address"],
    title: "User",
    type: "object",
  },
  "OpenAI: a linked list, all keys required": {
    $defs: {
      node: {
        ...node,
        properties: { ...node.properties, next: { anyOf: [{ $ref: "#/$defs/node" }, { type: "null" }] } },
      },
    },
    type: "object",
    properties: { list: { $ref: "#/$defs/node" } },
    required: ["list"],
    additionalProperties: false,
  },
  "a tree that refers to its own root": {
    type: "object",
    properties: {
      label: { type: "string" },
      left: { anyOf: [{ $ref: "#" }, { type: "null" }] },
      right: { anyOf: [{ $ref: "#" }, { type: "null" }] },
      children: { type: "array", items: { $ref: "#" } },
    },
    required: ["label", "left", "right", "children"],
    additionalProperties: false,
  },
  "a user interface of draft 7, with definitions": {
    definitions: { attribute: { type: "object", properties: { name: { type: "string" }, value: { type: "string" } } } },
    type: "object",
    properties: {
      type: { enum: ["div", "button"] },
      children: { type: "array", items: { $ref: "#" } },
      attributes: { type: "array", items: { $ref: "#/definitions/attribute" }, minItems: 1 },
    },
    required: ["type", "children", "attributes"],
  },
  "an intersection of two objects": {
    allOf: [
      { type: "object", properties: { a: { type: "number", minimum: 3 } }, required: ["a"] },
      {
        type: "object",
        properties: { a: { type: "integer", maximum: 4, multipleOf: 2 }, b: { enum: [1, 2] } },
        required: ["b"],
      },
    ],
  },
  "a condition": {
    type: "object",
    properties: { country: { enum: ["US", "NO"] }, zip: { type: "string" } },
    required: ["country"],
    if: { properties: { country: { const: "US" } } },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
    then: { required: ["zip"] },
    else: { properties: { zip: false } },
  },
  "keys that one another demand": {
    type: "object",
    properties: { card: { type: "string", minLength: 12, pattern: "^[0-9]+$" }, name: { type: "string" } },
    dependentRequired: { card: ["owner"], owner: ["since"] },
  },
  "something that must not be": { type: ["string", "number"], not: { type: "string" }, minimum: 7 },
  "a list that holds something": {
    type: "array",
    contains: { const: 7 },
    minContains: 2,
    maxItems: 3,
    items: { type: "integer" },
  },
  "keys that objects have of their own": {
    type: "object",
    properties: { constructor: { type: "string" }, toString: { type: "integer" } },
    required: ["constructor", "toString", "hasOwnProperty"],
  },
  "no constraint at all": {},
};

describe("the instance of a schema", () => {
  for (const [name, schema] of Object.entries(realistic)) {
    it(`is valid and always the same for ${name}`, () => {
      const value = instance(schema);
      expect(value).toBeDefined();
      expect(instance(structuredClone(schema))).toEqual(value);
    });
  }

  it("has the optional properties too", () => {
    expect(instance(realistic["a weather tool"] as JsonObject)).toEqual({ location: "Oslo", unit: "celsius", days: 1 });
  });

  it("prefers the author's suggestions, where they fit", () => {
    const schema = {
      type: "object",
      properties: { a: { type: "integer", default: 5 }, b: { type: "string", examples: [1, "x"] } },
    };
    expect(instance(schema)).toEqual({ a: 5, b: "x" });
  });

  for (const format of Object.keys(formats)) {
    it(`has the format ${format}, and several of them in a set`, () => {
      const schema = { type: "array", items: { type: "string", format }, minItems: 3, uniqueItems: true };
      expect(instance(schema)).toHaveLength(3);
    });
  }

  const patterns = [
    "^[a-z]+$",
    "^[A-Z]{2}\\d{4,6}$",
    "^(foo|bar)-\\w+$",
    "^\\+?[1-9]\\d{1,14}$",
    "^[^a-z]+$",
    "x",
    "^#([0-9a-f]{3}){1,2}$",
    "^(?:\\d{1,3}\\.){3}\\d{1,3}$",
    "^(?<year>\\d{4})-\\d{2}$",
    "^\\S+@\\S+$",
    "^[\\w.-]+$",
    "^\\u0041\\x42$",
    "^.{8}$",
    "^[äöü]+$",
    "^$",
    "^\\p{L}+\\p{N}*$",
    "^[\\s\\S]{3}$",
    "^a\\/b\\.c$",
    "^[+-]?\\d+(\\.\\d+)?$",
  ];
  for (const pattern of patterns) {
    it(`matches ${pattern}`, () => {
      expect(instance({ type: "string", pattern })).toBeDefined();
      expect(instance({ type: "string", pattern }, "Oslo", 5)).toBeDefined();
    });
  }

  it("grows a pattern to the required length", () => {
    expect(instance({ type: "string", pattern: "^[a-z]+-[a-z]+$", minLength: 10, maxLength: 10 })).toHaveLength(10);
  });

  it("is valid for any schema of the supported subset", () => {
    fc.assert(
      fc.property(schemas, fc.constantFrom("Oslo", "日本", "🤯x"), fc.nat(3), (schema, word, place) => {
        expect(instance(schema, word, place)).toBeDefined();
      }),
      { numRuns: 500 },
    );
  });

  it("ignores what it does not understand", () => {
    fc.assert(
      fc.property(junk, (schema) => {
        instanceOf(schema as JsonValue, { word: "Oslo" });
      }),
      { numRuns: 1000 },
    );
  });
});

describe("a schema without an instance", () => {
  const impossible: Record<string, JsonValue> = {
    false: false,
    "an empty enum": { enum: [] },
    "not anything": { not: {} },
    "two types at once": { allOf: [{ type: "string" }, { type: "integer" }] },
    "a required property that may not be": { type: "object", properties: { a: false }, required: ["a"] },
    "bounds that cross": { type: "integer", minimum: 5, maximum: 4 },
    "an object that must hold itself": { type: "object", properties: { self: { $ref: "#" } }, required: ["self"] },
    "a reference to itself": { $defs: { a: { $ref: "#/$defs/a" } }, $ref: "#/$defs/a" },
    "a set with more items than values": { type: "array", items: { type: "boolean" }, minItems: 3, uniqueItems: true },
  };
  for (const [name, schema] of Object.entries(impossible)) {
    it(`is recognised: ${name}`, () => {
      expect(instanceOf(schema, { word: "Oslo" })).toBeUndefined();
    });
  }

  const doubling = Object.fromEntries(
    Array.from({ length: 40 }, (_, i) => [
      `n${i}`,
      {
        type: "object",
        properties: { a: { $ref: `#/$defs/n${i + 1}` }, b: { $ref: `#/$defs/n${i + 1}` } },
        required: ["a", "b"],
      },
    ]),
  );
  const bombs: Record<string, JsonObject> = {
    "that doubles at each level": { $defs: doubling, $ref: "#/$defs/n0" },
    "that wants a billion items": { type: "array", minItems: 1e9 },
    "that wants a billion keys": { type: "object", minProperties: 1e9 },
    "that wants a billion characters": { type: "string", minLength: 1e9 },
    "with a pattern of a billion characters": { type: "string", pattern: "^((((a{9999}){9999}){9999}){9999})$" },
    "with a pattern of nothing, a billion times": {
      type: "string",
      pattern: "^((((){9999}){9999}){9999})$",
      minLength: 5,
    },
    "with an offer for a pattern that backtracks": {
      type: "string",
      pattern: "^(a+)+$",
      default: `${"a".repeat(60)}!`,
    },
    "with branches upon branches": {
      $defs: { a: { anyOf: [{ allOf: [{ $ref: "#/$defs/a" }, { $ref: "#/$defs/a" }] }, { $ref: "#/$defs/a" }] } },
      $ref: "#/$defs/a",
    },
    "with a long constant in a thousand places": {
      $defs: { c: { const: "x".repeat(1e6) } },
      properties: Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`p${i}`, { $ref: "#/$defs/c" }])),
    },
  };
  for (const [name, schema] of Object.entries(bombs)) {
    it(`costs little: one ${name}`, () => {
      // By its own time on a processor: others may need that, too.
      const begun = process.threadCpuUsage();
      instanceOf(schema, { word: "Oslo" });
      const { user, system } = process.threadCpuUsage(begun);
      expect((user + system) / 1_000).toBeLessThan(2000);
    });
  }
});

const bounded = fc.tuple(fc.nat(6), fc.nat(6)).map(([a, b]) => [a, a + b] as const);
const word = fc.constantFrom("a", "b", "c", "d", "constructor", "ß");

const { schema: schemas } = fc.letrec<{ schema: JsonObject; inner: JsonObject; object: JsonObject }>((tie) => ({
  schema: tie("inner").map((inner) => ({ ...inner, $defs: { shared: { type: "integer", minimum: 3 } } })),
  inner: fc.oneof(
    { maxDepth: 4, depthSize: "small" },
    fc.constantFrom<JsonObject>(
      { type: "boolean" },
      { type: "null" },
      { $ref: "#/$defs/shared" },
      { type: ["null", "string"] },
    ),
    bounded.map(([minLength, maxLength]): JsonObject => ({ type: "string", minLength, maxLength })),
    fc.constantFrom(...Object.keys(formats)).map((format): JsonObject => ({ type: "string", format })),
    fc.constantFrom("^[a-f]{2,}$", "^(x|y)z?$", "\\d").map((pattern): JsonObject => ({ type: "string", pattern })),
    fc
      .tuple(fc.integer({ min: -50, max: 50 }), fc.nat(50))
      .map(([a, b]): JsonObject => ({ type: "integer", minimum: a, exclusiveMaximum: a + b + 1 })),
    fc
      .tuple(fc.integer({ min: -50, max: 50 }), fc.integer({ min: 1, max: 9 }))
      .map(([a, m]): JsonObject => ({ type: "number", minimum: a, maximum: a + m, multipleOf: m })),
    fc
      .double({ min: -1e6, max: 1e6, noNaN: true })
      .map((a): JsonObject => ({ type: "number", exclusiveMinimum: a, maximum: a + 0.5 })),
    fc
      .uniqueArray(fc.jsonValue({ maxDepth: 1 }), {
        minLength: 1,
        maxLength: 4,
        comparator: (a, b) => JSON.stringify(a) === JSON.stringify(b),
      })
      .map((values) => ({ enum: values }) as JsonObject),
    fc.jsonValue({ maxDepth: 2 }).map((value) => ({ const: value }) as JsonObject),
    fc
      .tuple(tie("inner"), bounded)
      .map(([items, [minItems, maxItems]]): JsonObject => ({ type: "array", items, minItems, maxItems })),
    fc
      .array(tie("inner"), { minLength: 1, maxLength: 3 })
      .map((prefixItems): JsonObject => ({ type: "array", prefixItems, items: false })),
    bounded.map(
      ([minItems, maxItems]): JsonObject => ({
        type: "array",
        items: { type: "integer", minimum: 0, maximum: 20 },
        minItems,
        maxItems,
        uniqueItems: true,
      }),
    ),
    tie("object"),
    fc.array(tie("object"), { minLength: 1, maxLength: 2 }).map((anyOf): JsonObject => ({ anyOf })),
    fc.array(tie("inner"), { minLength: 1, maxLength: 3 }).map(
      (branches): JsonObject => ({
        oneOf: branches.map((branch, i) => ({
          type: "object",
          properties: { kind: { const: i }, of: branch },
          required: ["kind", "of"],
        })),
      }),
    ),
    tie("object").map((object): JsonObject => ({ allOf: [object, { type: "object", minProperties: 0 }] })),
  ),
  object: fc
    .tuple(
      fc.dictionary(word, tie("inner"), { maxKeys: 4 }),
      fc.array(fc.boolean(), { minLength: 4, maxLength: 4 }),
      fc.constantFrom<JsonValue>(true, false, { type: "integer" }),
    )
    .map(([properties, demanded, additionalProperties]) => ({
      type: "object",
      properties,
      required: Object.keys(properties).filter((_, i) => demanded[i]),
      additionalProperties,
    })),
}));

const keywords = [
  "type",
  "enum",
  "const",
  "properties",
  "required",
  "items",
  "prefixItems",
  "minimum",
  "maxLength",
  "minItems",
  "pattern",
  "$ref",
  "allOf",
  "anyOf",
  "oneOf",
  "not",
  "if",
  "additionalProperties",
  "dependentRequired",
  "multipleOf",
  "format",
  "default",
];
const junk = fc.letrec<{ any: unknown }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom(
      "object",
      "array",
      "string",
      "integer",
      "#",
      "#/%",
      "[",
      "(?<",
      "\\",
      3,
      -1,
      0,
      null,
      true,
      false,
      1e308,
    ),
    fc.dictionary(fc.constantFrom(...keywords), tie("any"), { maxKeys: 5 }),
    fc.array(tie("any"), { maxLength: 3 }),
  ),
})).any;
