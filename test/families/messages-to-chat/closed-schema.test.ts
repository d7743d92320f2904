/** Chat enforces schemas of objects that are closed and require all that they have. */
import type { JsonObject } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { isClosed } from "../../../src/families/messages-to-chat/request/closed-schema.ts";

const closed = { type: "object", additionalProperties: false };
const text = { type: "string" };

test.each<[string, JsonObject, boolean]>([
  ["with all its keys required", { ...closed, properties: { a: text }, required: ["a"] }, true],
  ["with a key that may be absent", { ...closed, properties: { a: text, b: text }, required: ["a"] }, false],
  ["that is open", { type: "object", properties: { a: text }, required: ["a"] }, false],
  ["with null for no properties", { ...closed, properties: null }, true],
  ["with null for no requirement", { ...closed, properties: { a: text }, required: null }, false],
  ["with an open one in it", { ...closed, properties: { a: { type: "object" } }, required: ["a"] }, false],
])("an object %s", (_, schema, expected) => {
  expect(isClosed(schema)).toBe(expected);
});
