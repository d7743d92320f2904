/** What is fitted of a request may be many thousand values: no more than some are worked on between two pauses. */
import type { JsonObject } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { CreateChatCompletionRequestSchema } from "../../../gen/modelgateway/v1/chat_pb.ts";
import { CreateResponseRequestSchema } from "../../../gen/modelgateway/v1/responses_pb.ts";
import { fittingOf } from "../../../src/providers/profile/fit.ts";
import { createProfile } from "../../../src/providers/profile/profile.ts";
import { itemsPerSlice } from "../../../src/runtime/cooperative.ts";
import { Wire } from "../../../src/wire/wire.ts";

const strict = fittingOf(
  createProfile({
    ...{ schemas: "plain", developer: "system", system: "first", plain_text: ["system", "tool"], call_ids: "nine" },
    ...{ cache_marks: "none", message_keys: [], after_tools: "assistant", thoughts: "none" },
    ...{ response_formats: ["json_object"] as const },
  }).of("m"),
  undefined,
);
const rooted = fittingOf(createProfile({ schemas: "rooted", call_ids: "short", cache_marks: "none" }).of("m"), true);
const unknown = fittingOf(createProfile({}).of("m"), undefined);

const count = 5_000;
/** reads is how often a value has been looked at. */
let reads = 0;

function tell(type: string): string {
  reads++;
  return type;
}

/** watched returns an object whose `type` tells that it is looked at. */
function watched(type: string, more: JsonObject = {}): JsonObject {
  return Object.defineProperty({ ...more }, "type", { enumerable: true, get: () => tell(type) });
}

const many = <T>(make: (i: number) => T, times = count) => Array.from({ length: times }, (_, i) => make(i));
const said = { role: "user", content: "hi" };
const mark = { cache_control: { type: "ephemeral" } };
const called = (i: number) => watched("function", { id: `call_${i}`, function: { name: "f", arguments: "" } });
/** A schema is compared in one go: each of its properties may be looked at twice for that. */
const properties = 1_000;
const parameters = (pattern: string, times = properties) => ({
  type: "object",
  properties: Object.fromEntries(many((i) => [`p${i}`, watched("string", { pattern, not: {} })], times)),
});

const bodies: Record<string, [operation: "chat" | "responses", body: JsonObject]> = {
  "parts of one message": ["chat", { messages: [{ role: "user", content: many(() => watched("text", mark)) }] }],
  "parts of one instruction": ["chat", { messages: [{ role: "system", content: many(() => watched("text")) }, said] }],
  "calls of one message": ["chat", { messages: [{ role: "assistant", tool_calls: many(called) }, said] }],
  tools: ["chat", { messages: [said], tools: many(() => watched("function", { function: { name: "f" }, ...mark })) }],
  "properties of one tool": [
    "chat",
    { messages: [said], tools: [{ type: "function", function: { name: "f", parameters: parameters("\\p{L}") } }] },
  ],
  "properties of the answer": [
    "chat",
    {
      messages: [said],
      response_format: { type: "json_schema", json_schema: { name: "a", schema: parameters("\\p{L}", count) } },
    },
  ],
  items: [
    "responses",
    { input: many((i) => watched("function_call", { call_id: `call_${i}`.repeat(9), arguments: "" })) },
  ],
  "parts of one item": ["responses", { input: [{ role: "user", content: many(() => watched("input_text", mark)) }] }],
};

test.each(Object.entries(bodies))("%s are fitted a few at a time", (name, [operation, body]) => {
  const desc = operation === "chat" ? CreateChatCompletionRequestSchema : CreateResponseRequestSchema;
  for (const fitter of [strict, rooted, unknown])
    for (const isOwn of [true, false]) {
      const work = fitter.fit(operation, Wire.ofJson<typeof desc>(desc, { model: "m", ...body }), isOwn);
      let most = 0;
      for (let done = false; !done; ) {
        reads = 0;
        done = work.next().done === true;
        most = Math.max(most, reads);
      }
      expect(most).toBeLessThanOrEqual(name.startsWith("properties") ? 2 * properties : 8 * itemsPerSlice);
    }
});
