/** A schema that is searched for long keeps nobody waiting, and has the instance that it has anyway. */
import { expect, test } from "vitest";
import { findInstance } from "../../src/embedded/schema/find-instance.ts";
import { instanceOf } from "../../src/embedded/schema/instance.ts";
import type { JsonValue } from "../../src/wire/json.ts";
import { shareOfThisThread } from "../support/run/cpu-time.ts";

const word = "Oslo";
const properties = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`p${i}`, { type: "string", pattern: "^[a-z]{3}\\d$" }]));
const branches = (depth: number): JsonValue =>
  depth === 0 ? { type: "integer", minimum: 5 } : { anyOf: [{ not: {} }, branches(depth - 1), { type: "null" }] };

test.each<[string, JsonValue]>([
  ["of few parts", { type: "object", properties: properties(2) }],
  ["of many parts", { type: "object", properties: properties(300), required: Object.keys(properties(300)) }],
  ["of many items", { type: "array", items: { enum: ["a", 1] }, minItems: 2_000 }],
  ["of branches", branches(8)],
  ["that is none", { not: {} }],
])("one %s has the same instance, wherever it is searched for", async (_, schema) => {
  expect(await findInstance(schema, { word })).toEqual(instanceOf(schema, { word }));
});

test("one that wants a thousand million items keeps nobody waiting", async () => {
  const schema = { type: "array", minItems: 1e9, items: { type: "object", required: ["a", "b"] } };
  const search = async () => expect(await findInstance(schema, { word })).toBeUndefined();
  expect(await shareOfThisThread(search)).toBeLessThan(0.5);
});

test("one of a hundred thousand values has none, which is known at once", () => {
  expect(findInstance({ enum: Array.from({ length: 100_000 }, (_, i) => i) }, { word })).toBeUndefined();
});

test("one is not searched for in the thread for a call that is over", async () => {
  const schema: JsonValue = { type: "object", properties: properties(300), required: Object.keys(properties(300)) };
  const over = new AbortController();
  const found = findInstance(schema, { word }, over.signal);
  over.abort();
  expect(await found).toBeUndefined();
});
