/**
 * Schemas that Anthropic's API refuses are rewritten: output schemas as its own SDK does it, tool schemas at their
 * root.
 */
import { transformJSONSchema } from "@anthropic-ai/sdk/lib/transform-json-schema";
import { describe, expect, test } from "vitest";
import { CreateChatCompletionRequestSchema } from "../../../gen/modelgateway/v1/chat_pb.ts";
import { chatToMessages } from "../../../src/families/chat-to-messages/index.ts";
import { runNow } from "../../../src/runtime/cooperative.ts";
import type { JsonObject } from "../../../src/wire/json.ts";
import { Wire } from "../../../src/wire/wire.ts";
import { context } from "../../support/translations/context.ts";

const text = { type: "string" };
const number = { type: "number" };
const object = (properties: object, more: object = {}) => ({ type: "object", properties, ...more }) as JsonObject;

function translated(more: JsonObject) {
  const asked = { model: "claude-sonnet-4-6", messages: [{ role: "user", content: "hi" }], ...more };
  const { request, dropped } = runNow(
    chatToMessages.translate(Wire.ofJson(CreateChatCompletionRequestSchema, asked), context),
  );
  return { sent: request.json(), dropped };
}

function output(schema: JsonObject) {
  const { sent, dropped } = translated({
    response_format: { type: "json_schema", json_schema: { name: "n", schema } },
  });
  const { format } = sent.output_config as { format: { schema: JsonObject } };
  return {
    schema: format.schema,
    dropped: dropped.map((path) => path.replace("response_format.json_schema.schema", "")),
  };
}

function tool(parameters: JsonObject, strict = false) {
  const { sent, dropped } = translated({ tools: [{ type: "function", function: { name: "t", parameters, strict } }] });
  const [first] = sent.tools as { input_schema: JsonObject }[];
  return {
    schema: first?.input_schema,
    dropped: dropped.map((path) => path.replace("tools[0].function.parameters", "")),
  };
}

describe("the schema of an output", () => {
  test.for([
    ["oneOf", object({ x: { oneOf: [text, number] } }), []],
    ["anyOf at the top", { anyOf: [object({ a: text }), object({ b: text })] } as JsonObject, []],
    ["allOf", { allOf: [object({ a: text }), object({ b: text })] } as JsonObject, []],
    ["unknown format", object({ x: { type: "string", format: "color" } }), [".properties.x.format"]],
    ["a format of a number", object({ x: { type: "number", format: "float" } }), [".properties.x.format"]],
    ["a known format", object({ x: { type: "string", format: "date-time" } }), []],
    ["not", object({ x: { type: "string", not: { const: "a" } } }), [".properties.x.not"]],
    [
      "patternProperties",
      object({ x: object({}, { patternProperties: { "^a": text } }) }),
      [".properties.x.patternProperties"],
    ],
    ["if, else", object({ a: text }, { if: { required: ["a"] }, else: { required: ["a"] } }), [".if", ".else"]],
    [
      "bounds",
      object({ x: { type: "integer", maximum: 9 }, y: { type: "string", minLength: 3 } }),
      [".properties.x.maximum", ".properties.y.minLength"],
    ],
    [
      "items",
      object({ x: { type: "array", items: { ...number, minimum: 1 }, minItems: 2 } }),
      [".properties.x.items.minimum", ".properties.x.minItems"],
    ],
    [
      "a described bound",
      object({ x: { type: "string", description: "A word", maxLength: 9 } }),
      [".properties.x.maxLength"],
    ],
    ["enum and const", object({ x: { type: "string", enum: ["a", "b"] }, y: { const: 3 } }), []],
    ["enum of objects", object({ x: { type: "object", enum: [{ a: 1 }] } }), [".properties.x.enum"]],
    [
      "definitions",
      { ...object({ a: { $ref: "#/$defs/A" } }), $defs: { A: object({ b: { oneOf: [text, number] } }) } } as JsonObject,
      [],
    ],
    ["a reference at the top", { $ref: "#/$defs/A", $defs: { A: object({ b: text }) } } as JsonObject, []],
    ["the dialect", object({ x: text }, { $schema: "https://json-schema.org/draft/2020-12/schema" }), []],
    ["a closed object", object({ x: text }, { additionalProperties: false, required: ["x"] }), []],
    ["an open object", object({ x: object({ y: text }) }), []],
  ] as const)("is what the vendor's SDK makes of it: %s", ([, schema, lost]) => {
    const { schema: sent, dropped } = output(schema);
    expect(sent).toEqual(transformJSONSchema(schema as object));
    expect(dropped).toEqual(lost);
  });

  test("has `definitions` as `$defs`", () => {
    const schema = { ...object({ a: { $ref: "#/definitions/A" } }), definitions: { A: { ...number, maximum: 3 } } };
    const { schema: sent, dropped } = output(schema as JsonObject);
    expect(sent.properties).toEqual({ a: { $ref: "#/$defs/A" } });
    expect(sent.$defs).toEqual({ A: { type: "number", description: "{maximum: 3}" } });
    expect(dropped).toEqual([".definitions.A.maximum"]);
  });

  test("has a property of any name", () => {
    const names = ["oneOf", "not", "format", "pattern", "items", "properties", "$ref", "constructor", "toString"];
    const properties = Object.fromEntries(names.map((name) => [name, text]));
    expect(output(object(properties))).toEqual({
      schema: object(properties, { additionalProperties: false }),
      dropped: [],
    });
  });

  test("has the patterns that the API supports", () => {
    const said = (pattern: string) =>
      (output(object({ x: { type: "string", pattern } })).schema.properties as JsonObject).x;
    expect(said("^a+$")).toEqual({ type: "string", pattern: "^a+$" });
    for (const odd of ["^(?!a)b", "(?<=a)b", "(a)\\1", "\\bword\\b"]) expect(said(odd)).not.toHaveProperty("pattern");
  });

  test("names siblings of a reference and a second combination", () => {
    const schema = object(
      { x: { $ref: "#/$defs/A", minLength: 2 }, y: { anyOf: [text], allOf: [text, text] } },
      { $defs: { A: text } },
    );
    expect(output(schema).dropped).toEqual([".properties.x.minLength", ".properties.y.allOf"]);
  });
});

describe("a schema that the API refuses, and OpenAI takes,", () => {
  const node = object({ name: text, children: { type: "array", items: { $ref: "#/$defs/Node" } } });
  const twins = { A: object({ b: { $ref: "#/$defs/B" } }), B: object({ a: { $ref: "#/definitions/A" } }) };
  const parts = { A: object({ a: text }), B: object({ b: text }) };
  const refused: Readonly<Record<string, JsonObject>> = {
    "a tree": object({ root: { $ref: "#/$defs/Node" } }, { $defs: { Node: node } }),
    "a tree at the root": object({ children: { type: "array", items: { $ref: "#" } } }),
    "two definitions that need each other": object({ a: { $ref: "#/$defs/A" } }, { $defs: twins }),
    "a circle that nothing leads to": object({ a: text }, { $defs: twins }),
    "a reference to a property": object({ a: text, b: { $ref: "#/properties/a" } }),
    "a reference to another file": object({ a: { $ref: "https://example.com/a.json" } }),
    "a reference, and a property more": object({ a: { $ref: "#/$defs/A", ...object({ b: text }) } }, { $defs: parts }),
    "all of one reference, and a property more": object(
      { a: { allOf: [{ $ref: "#/$defs/A" }], ...object({ b: text }) } },
      { $defs: parts },
    ),
    "all of two references": object({ a: { allOf: [{ $ref: "#/$defs/A" }, { $ref: "#/$defs/B" }] } }, { $defs: parts }),
  };
  const asked = (schema: JsonObject) => ({
    response_format: { type: "json_schema", json_schema: { name: "n", schema, strict: true } },
  });

  test.for(Object.entries(refused))("is that of a tool whose call is the answer: %s", ([, schema]) => {
    const { sent } = translated(asked(schema));
    expect(sent).not.toHaveProperty("output_config");
    expect(sent.tool_choice).toMatchObject({ type: "tool", name: "json_tool_call" });
    const [{ name, strict, input_schema }] = sent.tools as [JsonObject];
    expect([name, strict]).toEqual(["json_tool_call", undefined]);
    expect(input_schema).toMatchObject({ type: "object", properties: schema.properties as JsonObject });
  });

  test.for(Object.entries(refused))("stands in an instruction where no call can be demanded: %s", ([, schema]) => {
    const { sent } = translated({ ...asked(schema), model: "claude-opus-5-5" });
    expect(sent).not.toHaveProperty("output_config.format");
    expect(sent).not.toHaveProperty("tools");
    expect(JSON.stringify(sent.system)).toContain(JSON.stringify(JSON.stringify(schema)).slice(1, -1));
  });

  test.for(Object.entries(refused))("is that of a tool that is not strict, which is named: %s", ([, schema]) => {
    const { sent, dropped } = translated({
      tools: [{ type: "function", function: { name: "t", parameters: schema, strict: true } }],
    });
    const [{ strict, input_schema }] = sent.tools as [JsonObject];
    expect([strict, input_schema]).toEqual([undefined, schema]);
    expect(dropped).toEqual(["tools[0].function.strict"]);
  });

  test("is not that of a reference that Pydantic describes", () => {
    const described = { allOf: [{ $ref: "#/$defs/A" }], description: "The first.", title: "A" };
    const { schema } = output(object({ a: described }, { $defs: parts }));
    expect((schema.properties as JsonObject).a).toEqual({ $ref: "#/$defs/A" });
  });
});

describe("the schema of a tool's arguments", () => {
  const either = (key: string) =>
    ({
      type: "object",
      [key]: [object({ a: text }, { required: ["a"] }), object({ b: number }, { required: ["b"] })],
    }) as JsonObject;

  test.for(["anyOf", "oneOf"])("has the properties of all alternatives, none of them required: %s", (key) => {
    const { schema, dropped } = tool(either(key));
    expect(schema).toMatchObject({ type: "object", properties: { a: text, b: number } });
    expect(schema).not.toHaveProperty("required");
    expect(schema).not.toHaveProperty(key);
    expect(schema?.description).toMatch(/\(1\) requires a; \(2\) requires b/);
    expect(dropped).toEqual([`.${key}`]);
  });

  test("requires what every alternative requires, and their siblings", () => {
    const parts = [
      ["k", "a"],
      ["k", "b"],
    ].map((required) => object({ k: text, a: text, b: text }, { required }));
    const { schema } = tool(object({ z: text }, { required: ["z"], oneOf: parts }));
    expect(schema?.required).toEqual(["z", "k"]);
    expect(Object.keys(schema?.properties as object)).toEqual(["z", "k", "a", "b"]);
  });

  test("has different schemas of one property as alternatives below the root", () => {
    const kinds = ["a", "b"].map((kind) => object({ kind: { const: kind }, [kind]: text }, { required: ["kind"] }));
    const { schema } = tool({ anyOf: kinds });
    expect(schema).toMatchObject({
      properties: { kind: { anyOf: [{ const: "a" }, { const: "b" }] }, a: text, b: text },
      required: ["kind"],
    });
    expect(schema?.description).toContain('kind = "a"');
  });

  test("is one object for allOf, with nothing lost", () => {
    const closed = { additionalProperties: false };
    const parts = [object({ a: text }, { required: ["a"], ...closed }), object({ b: text }, { required: ["b"] })];
    expect(tool({ allOf: parts })).toEqual({
      schema: { type: "object", properties: { a: text, b: text }, required: ["a", "b"] },
      dropped: [],
    });
  });

  test("is the target of a reference at its root, even through others", () => {
    const $defs = { A: { $ref: "#/$defs/B" }, B: object({ a: text }, { required: ["a"] }) };
    expect(tool({ $ref: "#/$defs/A", $defs } as JsonObject).schema).toEqual({
      $defs,
      ...object({ a: text }, { required: ["a"] }),
    });
    const definitions = { A: object({ a: text }) };
    expect(tool({ oneOf: [{ $ref: "#/definitions/A" }], definitions } as JsonObject).schema).toMatchObject({
      definitions,
      properties: { a: text },
    });
  });

  test.for([
    [
      "that is made of itself",
      { $ref: "#/$defs/A", $defs: { A: { allOf: [{ $ref: "#/$defs/A" }, object({ a: text })] } } },
    ],
    ["that refers to nothing", { $ref: "#/$defs/Z", properties: { a: text } }],
    ["whose alternatives are no objects", { anyOf: [text, { type: "null" }, true], properties: { a: text } }],
    ["whose alternatives are no list", { oneOf: "a", properties: { a: text } }],
    ["of a list of types", { type: ["object", "null"], properties: { a: text } }],
  ] as const)("is an object, of a schema %s", ([, schema]) => {
    expect(tool(schema as unknown as JsonObject).schema).toMatchObject({ type: "object", properties: { a: text } });
  });

  test("is bounded where references stand for very many schemas", () => {
    const $defs = Object.fromEntries(
      Array.from({ length: 40 }, (_, i) => [
        `d${i}`,
        { anyOf: [{ $ref: `#/$defs/d${i + 1}` }, { $ref: `#/$defs/d${i + 1}` }] },
      ]),
    );
    const begun = performance.now();
    expect(tool({ $ref: "#/$defs/d0", $defs } as JsonObject).schema?.type).toBe("object");
    // Were each reference followed, it would be a million million schemas.
    expect(performance.now() - begun).toBeLessThan(20_000);
  });

  test("stays as it is below its root", () => {
    const parameters = object({
      x: { oneOf: [text, number] },
      y: { not: text },
      z: { type: "string", format: "color" },
    });
    expect(tool(parameters)).toEqual({ schema: parameters, dropped: [] });
  });

  test("is narrowed like an output's where the tool is strict", () => {
    const parameters = object({ x: { oneOf: [text, number] }, y: { type: "integer", minimum: 1 } });
    const { schema, dropped } = tool(parameters, true);
    expect(schema).toEqual(transformJSONSchema(parameters as object));
    expect(dropped).toEqual([".properties.y.minimum"]);
  });
});
