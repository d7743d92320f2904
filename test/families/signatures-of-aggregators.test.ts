/**
 * Signed thinking and signatures as aggregators carry them come back unchanged to the upstream that made them, whole and
 * streamed, for callers of every family.
 */
import { beforeEach, describe, expect, test } from "vitest";
import { CreateChatCompletionRequestSchema } from "../../gen/modelgateway/v1/chat_pb.ts";
import {
  portableId,
  sealedSignature,
  signatureForCall,
  signatureForText,
  signatureOf,
  signedId,
  unsignedId,
} from "../../src/families/call-signature.ts";
import { chatToMessages } from "../../src/families/chat-to-messages/index.ts";
import { runNow } from "../../src/runtime/cooperative.ts";
import type { JsonObject } from "../../src/wire/json.ts";
import { Wire } from "../../src/wire/wire.ts";
import { ask, eventsIn } from "../support/ask.ts";
import { modelAt, upstreamAt } from "../support/gateway.ts";
import type { ScriptedExchange } from "../support/scripted-upstream.ts";
import { context } from "../support/translations/context.ts";
import { scriptedStage } from "../support/upstreams/scripted-stage.ts";
import { chatAnswer, chatChunk, usageChunk } from "../support/vendors.ts";

// biome-ignore lint/suspicious/noExplicitAny: JSON of any shape.
type Json = Record<string, any>;

/** How an aggregator tells of a turn. */
interface Manner {
  readonly name: string;
  /** Members of the message beside its reasoning and its call. */
  readonly message: object;
  /** The same in pieces. */
  readonly pieces: readonly object[];
  readonly call: { readonly id: string; readonly [member: string]: unknown };
}

const called = { type: "function", function: { name: "read", arguments: "{}" } };
const signed = { type: "thinking", thinking: "Hm.", signature: "c2ln" };
const redacted = { type: "redacted_thinking", data: "b3BhcXVl" };

const manners: readonly Manner[] = [
  {
    name: "LiteLLM with Claude",
    message: { thinking_blocks: [signed, redacted] },
    pieces: [
      { thinking_blocks: [{ type: "thinking", thinking: "Hm.", signature: null }] },
      { thinking_blocks: [{ type: "thinking", thinking: "", signature: "c2ln" }] },
      { thinking_blocks: [redacted] },
    ],
    call: { id: "toolu_1", ...called },
  },
  {
    name: "LiteLLM with Gemini",
    message: { content: "I read.", provider_specific_fields: { thought_signatures: ["dGV4dA=="] } },
    pieces: [{ content: "I read." }, { provider_specific_fields: { thought_signatures: ["dGV4dA=="] } }],
    call: { id: "call_1__thought__a+b/c==", ...called, provider_specific_fields: { thought_signature: "a+b/c==" } },
  },
  {
    name: "Vertex",
    message: {},
    pieces: [],
    call: { id: "fc-1", ...called, extra_content: { vertex: { thought_signature: "dmVydGV4" } } },
  },
  { name: "Kimi, whose ids count", message: {}, pieces: [], call: { id: "functions.read:0", ...called } },
];

let manner = manners[0] as Manner;
const sentTo = (i: number) => upstream.received.at(i)?.asked;

const { upstream, gateway } = scriptedStage(
  (baseUrl) => ({ ...upstreamAt(baseUrl), models: [modelAt("far", "m"), modelAt("far", "other")] }),
  { script: think },
);

/** Thinks, and calls the tool, in the aggregator's manner. */
function think(exchange: ScriptedExchange): void {
  const { stream } = exchange.asked;
  const { message, pieces, call } = manner;
  if (!stream) {
    const said = { content: null, reasoning_content: "Hm.", ...message, tool_calls: [call] };
    exchange.json(200, chatAnswer(said, "tool_calls"));
    return;
  }
  exchange.stream(
    chatChunk({ role: "assistant", content: "", reasoning_content: "Hm." }),
    ...pieces.map((piece) => chatChunk({ ...piece })),
    chatChunk({ tool_calls: [{ index: 0, ...call }] }),
    chatChunk({}, "tool_calls"),
    usageChunk(),
  );
}

async function post(path: string, body: object): Promise<string> {
  const { status, text } = await ask(gateway, `/v1${path}`, body as JsonObject);
  expect([status, text]).toEqual([200, text]);
  return text;
}

/** The blocks of a streamed message, as an SDK joins them. */
function blocksOf(text: string): Json[] {
  const blocks: Json[] = [];
  for (const { type, index, content_block, delta } of eventsIn(text)) {
    if (type === "content_block_start") blocks[index] = { ...content_block };
    if (type === "content_block_delta" && delta.type === "thinking_delta")
      (blocks[index] as Json).thinking += delta.thinking;
  }
  return blocks;
}

const user = { role: "user", content: "read it" };
const schema = { type: "object", properties: {} };

/** Expects that the upstream got its turn back as it was; another model gets the call alone. */
function expectBack(isMaker: boolean): void {
  const { messages } = sentTo(-1);
  const [, { role, tool_calls: calls, thinking_blocks: blocks, provider_specific_fields: fields }, result] = messages;
  const { id } = manner.call;
  expect([role, result.tool_call_id]).toEqual(["assistant", id]);
  expect(calls).toEqual([isMaker ? manner.call : { id, ...called }]);
  const expected = manner.message as Json;
  expect(blocks).toEqual(isMaker ? expected.thinking_blocks : undefined);
  expect(fields).toEqual(isMaker ? expected.provider_specific_fields : undefined);
}

describe.each(manners)("$name", (one) => {
  beforeEach(() => {
    manner = one;
  });

  describe.each([false, true])("stream: %s", (stream) => {
    test("to a caller of messages", async () => {
      const tools = [{ name: "read", input_schema: schema }];
      const text = await post("/messages", { model: "m", max_tokens: 9, stream, messages: [user], tools });
      const content = stream ? blocksOf(text) : JSON.parse(text).content;
      const use = content.find(({ type }: Json) => type === "tool_use");
      expect(use.id).toMatch(/^[A-Za-z0-9_-]+$/);
      const result = { type: "tool_result", tool_use_id: use.id, content: "A" };
      const messages = [user, { role: "assistant", content }, { role: "user", content: [result] }];
      await post("/messages", { model: "m", max_tokens: 9, messages, tools });
      expectBack(true);
      await post("/messages", { model: "other", max_tokens: 9, messages, tools });
      expectBack(false);
    });

    test("to a caller of responses", async () => {
      const tools = [{ type: "function", name: "read", parameters: schema, strict: false }];
      const text = await post("/responses", { model: "m", stream, input: [user], tools });
      const response = stream ? eventsIn(text).at(-1).response : JSON.parse(text);
      const { output } = response as { output: Json[] };
      const result = { type: "function_call_output", call_id: output.at(-1)?.call_id, output: "A" };
      await post("/responses", { model: "m", input: [user, ...output, result], tools, store: false });
      expectBack(true);
      await post("/responses", { model: "other", input: [user, ...output, result], tools, store: false });
      expectBack(false);
    });
  });
});

const target = { model: "m", upstream: "far" };
/** The base64 of this id has `-id-` in it. */
const withMark = "⏢w€";

test.for(["functions.read:0", "call_1__thought__a+b/c==", "é", " ", "a".repeat(99).concat("."), "a.-id-b", withMark])(
  "an id that the Messages API refuses comes back unchanged: %s",
  (id) => {
    const portable = portableId(id);
    expect(portable).toMatch(/^[A-Za-z0-9_-]+$/);
    expect(unsignedId(portable)).toBe(id);
    expect(unsignedId(signedId(portable, "c2ln", target))).toBe(id);
  },
);

test.for(["call_1", "a-id-b", "-id-", "a-id-YQ", "toolu_01A"])("an id that only looks encoded stays: %s", (id) => {
  expect(portableId(id)).toBe(id);
  expect(unsignedId(id)).toBe(id);
});

test("an encoded id that was made another by its end stays", () => {
  for (const id of ["a.", `${"a".repeat(99)}.`]) {
    const another = `${portableId(id)}_1`;
    expect(unsignedId(another)).toBe(another);
  }
});

test("a long id of marks takes no time", () => {
  for (const part of ["-id-", "-sig-", "-sig-b00000000-"]) {
    const id = `${part.repeat(100_000)}.`;
    const before = performance.now();
    expect(unsignedId(id) === id).toBe(true);
    // Were each mark looked for from its own place on, it would be minutes.
    expect(performance.now() - before).toBeLessThan(20_000);
  }
});

test("a signature without content is none, and one of another kind is no signature", () => {
  for (const fields of [
    { thought_signature: "" },
    { thought_signatures: [] },
    { thought_signature: 1 },
    { other: "x" },
  ])
    expect(signatureOf({ provider_specific_fields: fields, extra_content: { google: fields, vertex: null } })).toBe("");
  expect(signatureForCall(signedId("c", "at:no json", target), true, target)).toEqual({});
});

test("a signature in an aggregator's place goes to no other upstream; Gemini skips the check there", () => {
  const member = { provider_specific_fields: { thought_signature: "c2ln" } };
  const id = signedId("c", signatureOf(member), { model: "gemini-3-pro", upstream: "aggregator" });
  expect(unsignedId(id)).toBe("c");
  expect(signatureForCall(id, true, { model: "gemini-3-pro", upstream: "aggregator" })).toEqual(member);
  expect(signatureForCall(id, true, { model: "gemini-3-pro", upstream: "google" })).toEqual({
    extra_content: { google: { thought_signature: "skip_thought_signature_validator" } },
  });
  expect(signatureForText(sealedSignature(signatureOf(member), target), { ...target, upstream: "other" })).toEqual({});
});

test("a member that a caller made up is not put beside its call", () => {
  const made = { role: "system", function: { name: "other" }, extra_content: 1, provider_specific_fields: { a: 1 } };
  const id = signedId("c", `at:${JSON.stringify(made)}`, target);
  expect(signatureForCall(id, true, target)).toEqual({ provider_specific_fields: { a: 1 } });
});

describe("a chat caller's history for Claude", () => {
  const translate = (more: object) => {
    const assistant = { role: "assistant", content: "Yes.", ...more };
    const request = { model: "claude-x", messages: [user, assistant, user] } as JsonObject;
    const wire = Wire.ofJson(CreateChatCompletionRequestSchema, request);
    const translated = runNow(chatToMessages.translate(wire, { ...context, maxOutputTokens: 99 }));
    const { messages } = translated.request.json() as { messages: Json[] };
    return { content: messages[1]?.content, dropped: translated.dropped };
  };
  const text = { type: "text", text: "Yes." };
  const format = "anthropic-claude-v1";
  const detail = (more: object) => ({ type: "reasoning.text", format, index: 0, ...more });

  test("has its thinking as LiteLLM and OpenRouter keep it", () => {
    const expected = { content: [signed, redacted, text], dropped: [] };
    expect(translate({ thinking_blocks: [signed, redacted] })).toEqual(expected);
    expect(translate({ provider_specific_fields: { thinking_blocks: [signed, redacted] } })).toEqual(expected);
    const encrypted = { type: "reasoning.encrypted", data: redacted.data, format };
    const whole = detail({ text: "Hm.", signature: "c2ln" });
    expect(translate({ reasoning_details: [whole, encrypted] })).toEqual(expected);
    const pieces = [detail({ text: "H" }), detail({ text: "m." }), detail({ text: "", signature: "c2ln" })];
    expect(translate({ reasoning_details: [...pieces, encrypted] })).toEqual(expected);
  });

  test("has each thought under its own signature, whatever pieces stand between", () => {
    const given = [
      detail({ text: "H" }),
      detail({ text: "So", index: 1 }),
      detail({ text: "m.", signature: "c2ln" }),
      detail({ text: "?", index: 1, signature: "bmV4dA" }),
      detail({ text: "lost", index: 2 }),
    ];
    const next = { type: "thinking", thinking: "So?", signature: "bmV4dA" };
    const dropped = ["messages[1].reasoning_details[4]"];
    expect(translate({ reasoning_details: given })).toEqual({ content: [signed, next, text], dropped });
  });

  test("loses what is not signed, or signed by another vendor, by name", () => {
    const foreign = { type: "reasoning.encrypted", data: "x", format: "google-gemini-v1" };
    const path = "messages[1].reasoning_details";
    const lost = translate({ reasoning_details: [foreign, detail({ text: "Hm." }), 1] });
    expect(lost.content).toEqual([text]);
    expect([...lost.dropped].sort()).toEqual([0, 1, 2].map((i) => `${path}[${i}]`));
    for (const odd of [
      { reasoning_details: { text: "Hm." } },
      { provider_specific_fields: "x" },
      { thinking_blocks: 1 },
    ])
      expect(translate(odd)).toEqual({ content: [text], dropped: Object.keys(odd).map((key) => `messages[1].${key}`) });
    const empty = { type: "reasoning.encrypted", data: "", format };
    expect(translate({ reasoning_details: [empty] })).toEqual({ content: [text], dropped: [`${path}[0]`] });
    const specific = {
      provider_specific_fields: { citations: [1] },
      thinking_blocks: [signed],
      reasoning_details: [foreign],
    };
    const { content, dropped } = translate(specific);
    expect(content).toEqual([signed, text]);
    expect([...dropped].sort()).toEqual(["messages[1].provider_specific_fields.citations", path]);
  });
});
