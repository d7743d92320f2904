/** Schemas within the limits of a body may have 100,000 parts: none is changed in one go for longer than some milliseconds. */
import type { JsonObject } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { CreateChatCompletionRequestSchema } from "../../../gen/modelgateway/v1/chat_pb.ts";
import { CreateMessageRequestSchema } from "../../../gen/modelgateway/v1/messages_pb.ts";
import { CreateResponseRequestSchema } from "../../../gen/modelgateway/v1/responses_pb.ts";
import type { Operation } from "../../../src/call/operations.ts";
import { withFitNames } from "../../../src/families/chat-to-messages/property-names.ts";
import { enforcedSchema } from "../../../src/families/chat-to-messages/request/output-schema.ts";
import { findTranslations, translateAll } from "../../../src/families/index.ts";
import { repairedSchema } from "../../../src/families/tools/repaired-schema.ts";
import { fitTools } from "../../../src/providers/profile/schemas/fit-tools.ts";
import { rootSchema } from "../../../src/providers/profile/schemas/root-schema.ts";
import { runNow } from "../../../src/runtime/cooperative.ts";
import { Wire } from "../../../src/wire/wire.ts";

/** A schema that each server would get changed: of types in capitals, with names and keywords that some refuse. */
function schemaOf(count: number): JsonObject {
  const property = { type: "STRING", not: { const: "x" } };
  return {
    type: "object",
    properties: Object.fromEntries(Array.from({ length: count }, (_, i) => [`$p${i}`, property])),
  };
}

const huge = schemaOf(15_000);
const usual = schemaOf(1_000);

describe.each<[string, (schema: JsonObject) => unknown]>([
  ["repaired", (schema) => repairedSchema(schema)],
  ["narrowed for an answer", (schema) => enforcedSchema(schema, "")?.schema],
  ["given fit names", (schema) => withFitNames(schema, () => {}).schema],
  [
    "made plain",
    (schema) => {
      const tool = { type: "function", function: { name: "f", parameters: schema } };
      const [fit] = runNow(fitTools([tool], { schemas: "plain" } as never))?.tools ?? [tool];
      return (fit as typeof tool).function.parameters;
    },
  ],
])("a schema is %s", (_, change) => {
  test("where it is as long as any that is known", () => expect(change(usual)).not.toBe(usual));

  test("and stays as it came where it is huge, to be judged by its server", () => expect(change(huge)).toBe(huge));
});

const said = [{ role: "user", content: "hi" }];
const many = <T>(tool: T) => Array<T>(300).fill(tool);
const parameters = schemaOf(30);

test.each([
  [
    "chat",
    "messages",
    CreateChatCompletionRequestSchema,
    { messages: said, tools: many({ type: "function", function: { name: "f", parameters } }) },
  ],
  [
    "chat",
    "messages",
    CreateChatCompletionRequestSchema,
    { messages: said, functions: many({ name: "f", parameters }) },
  ],
  [
    "chat",
    "responses",
    CreateChatCompletionRequestSchema,
    { messages: said, tools: many({ type: "function", function: { name: "f", parameters } }) },
  ],
  [
    "chat",
    "responses",
    CreateChatCompletionRequestSchema,
    { messages: said, functions: many({ name: "f", parameters }) },
  ],
  [
    "responses",
    "chat",
    CreateResponseRequestSchema,
    { input: "hi", tools: many({ type: "function", name: "f", parameters }) },
  ],
  [
    "messages",
    "chat",
    CreateMessageRequestSchema,
    { max_tokens: 9, messages: said, tools: many({ name: "f", input_schema: parameters }) },
  ],
] as const)("%s → %s: work stops after each of many tools", (from, to, desc, request) => {
  const way = findTranslations(from, (operation: Operation) => operation === to) ?? [];
  const wire = Wire.ofJson(desc, { model: "m", ...request } as unknown as JsonObject);
  const context = { form: "whole", maxOutputTokens: 9, answerId: "a", now: 0, estimateTokens: () => 0 } as const;
  const task = translateAll(way, wire as never, context);
  let pauses = 0;
  while (!task.next().done) pauses += 1;
  expect(pauses).toBeGreaterThanOrEqual(300);
});

const long = { type: "object", properties: schemaOf(3_000).properties as JsonObject };
const reference = { $ref: "#/$defs/long" };
let nested: JsonObject = long;
for (let i = 0; i < 60; i++) nested = { allOf: [nested], properties: { [`p${i}`]: {} } };

test.each<[string, JsonObject]>([
  ["of references to a long schema", { allOf: Array<JsonObject>(190).fill(reference), $defs: { long } }],
  ["of alternatives that refer to one", { anyOf: Array<JsonObject>(190).fill(reference), $defs: { long } }],
  ["of schemas within schemas", nested],
  ["that is huge itself", { allOf: [huge] }],
])("a root %s is not merged: its server may judge it", (_, schema) => {
  const dropped: string[] = [];
  expect(rootSchema(schema, (keyword) => dropped.push(keyword))).toBe(schema);
  expect(dropped).toEqual([]);
});
