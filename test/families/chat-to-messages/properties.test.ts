import fc, { type Arbitrary } from "fast-check";
import { describe, expect, test } from "vitest";
import { CreateChatCompletionRequestSchema } from "../../../gen/modelgateway/v1/chat_pb.ts";
import { CreateMessageRequestSchema } from "../../../gen/modelgateway/v1/messages_pb.ts";
import { Refusal } from "../../../src/call/refusals.ts";
import { chatToMessages } from "../../../src/families/chat-to-messages/index.ts";
import { createValidate } from "../../../src/pipeline/check/validate.ts";
import { runNow } from "../../../src/runtime/cooperative.ts";
import type { JsonObject, JsonValue } from "../../../src/wire/json.ts";
import { readMessage } from "../../../src/wire/read.ts";
import { Wire } from "../../../src/wire/wire.ts";
import { goldensOf } from "../../support/translations/goldens.ts";

const validate = createValidate();

const sign = fc.constantFrom("a", "Z", " ", "\n", "é", "世", "👋", '"', "{", "}", "\\");
const text: Arbitrary<string> = fc.oneof(fc.string({ unit: sign, maxLength: 12 }), fc.constantFrom("", " ", "Hello"));
const name = fc.constantFrom("f", "g", "files.read", "天气", "x".repeat(200), "json_tool_call");
const id = fc.constantFrom("c1", "c2", "c3", "functions.f:0", "", "y".repeat(150));
const mark = fc.constantFrom<JsonValue>({ type: "ephemeral" }, { type: "ephemeral", ttl: "1h" }, "odd", null);
const json = fc.jsonValue({ maxDepth: 3 }).filter((value) => isUnicode(value)) as Arbitrary<JsonValue>;

function isUnicode(value: unknown): boolean {
  return !/\\ud[89a-f]|__proto__/i.test(JSON.stringify(value));
}

/** Makes objects of which any member may be missing. */
function some(members: Readonly<Record<string, Arbitrary<JsonValue>>>): Arbitrary<JsonObject> {
  return fc.record(members, { requiredKeys: [], noNullPrototype: true }) as Arbitrary<JsonObject>;
}

function all(members: Readonly<Record<string, Arbitrary<JsonValue>>>): Arbitrary<JsonObject> {
  return fc.record(members, { noNullPrototype: true });
}

function merged(...objects: readonly Arbitrary<JsonObject>[]): Arbitrary<JsonObject> {
  return fc.tuple(...objects).map((parts) => Object.assign({}, ...parts) as JsonObject);
}

const url = fc.constantFrom(
  ...["data:image/png;base64,AAAA", "data:image/jpg;base64,/9j/", "data:application/pdf;base64,JVBERi0="],
  ...["https://e.com/a.png", "http://e.com/b.pdf", "data:image/svg+xml;base64,PA==", "ftp://e.com"],
);
const part: Arbitrary<JsonObject> = fc.oneof(
  { weight: 6, arbitrary: merged(all({ type: fc.constant("text"), text }), some({ cache_control: mark })) },
  { weight: 2, arbitrary: all({ type: fc.constant("refusal"), refusal: text }) },
  { weight: 2, arbitrary: all({ type: fc.constant("image_url"), image_url: all({ url }) }) },
  all({ type: fc.constant("file"), file: some({ file_data: url, filename: text, file_id: fc.constant("file_1") }) }),
  all({ type: fc.constantFrom("thinking", "redacted_thinking", "video"), thinking: text, signature: text, data: text }),
);
const content: Arbitrary<JsonValue> = fc.oneof(text, fc.array(part, { maxLength: 4 }), fc.constant(null));
const parsable = fc.oneof(
  json.map((value) => JSON.stringify(value)),
  text,
  fc.constantFrom(
    "",
    '{"a":1e999}',
    '{"a":"\\ud800"}',
    '{"__proto__":{}}',
    "[".repeat(200),
    `{"a":${"[".repeat(95)}${"]".repeat(95)}}`,
  ),
);
const call: Arbitrary<JsonObject> = fc.oneof(
  merged(all({ type: fc.constant("function"), function: all({ name, arguments: parsable }) }), some({ id })),
  merged(all({ type: fc.constant("custom"), custom: all({ name, input: text }) }), some({ id })),
  all({ type: fc.constant("mystery"), id }),
);
const thinking: Arbitrary<JsonObject> = fc.oneof(
  some({ type: fc.constantFrom("thinking", "redacted_thinking", "odd"), thinking: text, signature: text, data: text }),
  all({ type: fc.constant("thinking"), thinking: text, signature: fc.constant("c2ln") }),
);
const message: Arbitrary<JsonObject> = fc.oneof(
  merged(
    all({ role: fc.constantFrom("system", "developer", "user", "user"), content }),
    some({ name, cache_control: mark }),
  ),
  merged(
    all({ role: fc.constant("assistant"), content }),
    some({
      ...{ tool_calls: fc.array(call, { maxLength: 3 }), function_call: all({ name, arguments: parsable }) },
      ...{
        thinking_blocks: fc.array(thinking, { maxLength: 2 }),
        reasoning_content: text,
        refusal: text,
        cache_control: mark,
      },
    }),
  ),
  merged(
    all({ role: fc.constant("tool"), content }),
    some({ tool_call_id: id, name, is_error: json, cache_control: mark }),
  ),
  all({ role: fc.constant("function"), name, content }),
);
const schema = some({
  type: fc.constantFrom("object", "string"),
  properties: all({ a: some({ type: text }) }),
  minItems: json,
});
const definition = merged(all({ name }), some({ description: text, parameters: schema, strict: fc.boolean() }));
const tool: Arbitrary<JsonObject> = fc.oneof(
  merged(all({ type: fc.constant("function"), function: definition }), some({ cache_control: mark })),
  all({ type: fc.constant("custom"), custom: all({ name }) }),
  all({ type: fc.constantFrom("retrieval", "web_search_20250305"), name }),
);
const choice: Arbitrary<JsonValue> = fc.oneof(
  fc.constantFrom("auto", "none", "required", "sometimes"),
  name.map((name) => ({ type: "function", function: { name } })),
  name.map((name) => ({ type: "allowed_tools", allowed_tools: { mode: "auto", tools: [{ type: "function", name }] } })),
);
const request: Arbitrary<JsonObject> = merged(
  all({
    model: fc.constantFrom("claude-sonnet-4-6", "claude-3-5-haiku", "claude-opus-4-1", "m"),
    messages: fc.array(message, { minLength: 1, maxLength: 8 }),
  }),
  some({
    ...{ tools: fc.array(tool, { maxLength: 4 }), tool_choice: choice, parallel_tool_calls: fc.boolean() },
    ...{
      functions: fc.array(definition, { maxLength: 2 }),
      function_call: fc.oneof(fc.constant("auto"), all({ name })),
    },
    ...{
      max_tokens: fc.integer({ min: 1, max: 2 ** 32 - 1 }),
      max_completion_tokens: fc.integer({ min: 1, max: 5000 }),
    },
    ...{ temperature: fc.double({ min: 0, max: 2, noNaN: true }), top_p: fc.double({ min: 0, max: 1, noNaN: true }) },
    ...{ stop: fc.oneof(text, fc.array(text, { maxLength: 4 })), top_k: json, thinking: json, output_config: json },
    ...{ reasoning_effort: fc.constantFrom("none", "minimal", "low", "medium", "high", "xhigh", "max", "odd") },
    ...{
      response_format: fc.oneof(
        all({ type: text }),
        all({ type: fc.constant("json_schema"), json_schema: all({ schema }) }),
      ),
    },
    ...{ user: text, service_tier: text, cache_control: json, container: json, metadata: all({ a: text }), odd: json },
  }),
);

describe("the upstream's request", () => {
  test("keeps the rules of the Messages API, over the fixtures", () => {
    for (const { request, context } of goldensOf<Golden>("chat-to-messages")) check(request, context?.maxOutputTokens);
  });

  test("keeps the rules of the Messages API, over random requests", () => {
    let answered = 0;
    const bound = fc.option(fc.integer({ min: 1, max: 70_000 }), { nil: undefined });
    fc.assert(
      fc.property(request, bound, (request, maxOutputTokens) => {
        answered += check(request, maxOutputTokens) ? 1 : 0;
      }),
      { numRuns: 3000 },
    );
    // The property would hold for a translation that refuses everything.
    expect(answered).toBeGreaterThan(1000);
  });

  test("has every text of the request, or the text's path is named", () => {
    fc.assert(
      fc.property(request, ({ tool_choice: _, ...request }) => {
        const words = new Map<string, string>();
        const asked = translate(worded(request, "", words) as JsonObject, undefined);
        if (!asked) return;
        const said = JSON.stringify(asked.json);
        for (const [word, path] of words) {
          const isNamed = asked.dropped.some((dropped) => path.startsWith(dropped));
          if (!isNamed && !said.includes(word)) expect.fail(`${path} is lost; named are: ${asked.dropped}`);
        }
      }),
      { numRuns: 1000 },
    );
  });

  test("is the same for the same request", () => {
    fc.assert(
      fc.property(request, (request) => {
        expect(translate(request, undefined)).toEqual(translate(structuredClone(request), undefined));
      }),
      { numRuns: 200 },
    );
  });
});

const wordy = ["text", "content", "refusal", "description", "input", "filename", "user", "service_tier", "a", "odd"];

/** Replaces every text by a unique word, and collects the words' paths. */
function worded(value: JsonValue, path: string, words: Map<string, string>): JsonValue {
  if (Array.isArray(value)) return value.map((item, i) => worded(item, `${path}[${i}]`, words));
  if (typeof value !== "object" || value === null) return value;
  const copy: JsonObject = {};
  for (const [key, item] of Object.entries(value as JsonObject)) {
    const itemPath = path === "" ? key : `${path}.${key}`;
    const isText = typeof item === "string" && wordy.includes(key);
    copy[key] = isText ? `word${words.size}.` : worded(item as JsonValue, itemPath, words);
    if (isText) words.set(copy[key] as string, itemPath);
  }
  return copy;
}

interface Golden {
  readonly request: JsonObject;
  readonly context?: { readonly maxOutputTokens?: number };
}

interface Asked {
  readonly json: JsonObject;
  readonly dropped: readonly string[];
}

/** Returns undefined where the request is refused. */
function translate(request: JsonObject, maxOutputTokens: number | undefined): Asked | undefined {
  const wire = Wire.ofJson(CreateChatCompletionRequestSchema, request);
  validate(wire);
  try {
    const context = { form: "whole", maxOutputTokens, answerId: "a1", now: 1, estimateTokens: () => 0 } as const;
    const { request, dropped } = runNow(chatToMessages.translate(wire, context));
    return { json: JSON.parse(request.bytes().toString()) as JsonObject, dropped };
  } catch (error) {
    if (!(error instanceof Refusal) || error.status !== 400) throw error;
    return undefined;
  }
}

function check(request: JsonObject, maxOutputTokens: number | undefined): boolean {
  const asked = translate(request, maxOutputTokens);
  if (!asked) return false;
  const { json, dropped } = asked;
  readMessage(CreateMessageRequestSchema, json, { lenient: false });
  validate(Wire.ofJson(CreateMessageRequestSchema, json));
  expect(dropped).toEqual([...new Set(dropped)]);
  checkTurns(json.messages as unknown as Turn[]);
  checkTools(json);
  checkBounds(json, request, maxOutputTokens);
  return true;
}

interface Turn {
  readonly role: string;
  readonly content: readonly JsonObject[];
}

function checkTurns(turns: readonly Turn[]): void {
  let open: JsonValue[] = [];
  const ids = new Set<JsonValue>();
  for (const [i, { role, content }] of turns.entries()) {
    expect(role).toBe(i % 2 === 0 ? "user" : "assistant");
    expect(content.length).toBeGreaterThan(0);
    const results = content.filter(({ type }) => type === "tool_result");
    expect(content.slice(0, results.length)).toEqual(results);
    expect(results.map((result) => result.tool_use_id).sort()).toEqual(open.sort());
    const calls = content.filter(({ type }) => type === "tool_use");
    open = calls.map((call) => call.id as JsonValue);
    for (const id of open) {
      expect(id).toMatch(/^[a-zA-Z0-9_-]{1,128}$/);
      expect(ids.has(id)).toBe(false);
      ids.add(id);
    }
    for (const block of [...content, ...results.flatMap(blocksIn)]) checkBlock(block);
    if (role === "assistant") expect(content.at(-1)?.type).toMatch(/^(?:text|tool_use)$/);
  }
  expect(open).toEqual([]);
  const last = turns.at(-1)?.content.at(-1)?.text;
  if (turns.length % 2 === 0) expect(last).toBe(String(last).trimEnd());
}

function blocksIn({ content }: JsonObject): JsonObject[] {
  return Array.isArray(content) ? (content as JsonObject[]) : [];
}

function checkBlock({ type, text, signature, data, cache_control: mark }: JsonObject): void {
  if (type === "text") expect(String(text).trim()).not.toBe("");
  if (type === "thinking") expect(signature).toBeTruthy();
  if (type === "redacted_thinking") expect(data).toBeTruthy();
  if (mark !== undefined) expect(mark).toMatchObject({ type: "ephemeral" });
}

function checkTools({ tools = [], tool_choice: choice, messages, thinking }: JsonObject): void {
  const names = (tools as JsonObject[]).map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  for (const tool of tools as JsonObject[]) {
    if (tool.type !== undefined) continue;
    expect(tool.name).toMatch(/^[a-zA-Z0-9_-]{1,128}$/);
    expect(tool.input_schema).toMatchObject({ type: expect.any(String) });
  }
  const { type, name } = (choice ?? {}) as JsonObject;
  if (type === "tool") expect(names).toContain(name);
  if (choice !== undefined) expect(names.length).toBeGreaterThan(0);
  if ((thinking as JsonObject | undefined)?.type === "enabled") expect(["any", "tool"]).not.toContain(type);
  const calls = (messages as unknown as Turn[]).some(({ content }) => content.some(({ type }) => type === "tool_use"));
  if (calls) expect(names.length).toBeGreaterThan(0);
}

function checkBounds(json: JsonObject, request: JsonObject, maxOutputTokens = Number.POSITIVE_INFINITY): void {
  const maxTokens = json.max_tokens as number;
  expect(maxTokens).toBeGreaterThan(0);
  expect(maxTokens).toBeLessThanOrEqual(maxOutputTokens);
  const asked = request.max_completion_tokens ?? request.max_tokens;
  if (typeof asked === "number") expect(maxTokens).toBeLessThanOrEqual(asked);
  const { budget_tokens: budget } = (json.thinking ?? {}) as JsonObject;
  if (budget !== undefined) {
    expect(budget).toBeGreaterThanOrEqual(1024);
    expect(budget).toBeLessThan(maxTokens);
  }
}
