/** What OpenAI keeps for a call, and finds by an id: containers of code, and sounds in which a model has answered. It is its account's alone. */
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/wire/json.ts";
import { ask, eventsIn } from "../../support/ask.ts";
import { openSocket } from "../../support/clients/response-sockets.ts";
import { openAccount } from "../../support/payer.ts";
import { paidModels } from "../../support/upstreams/paid-models.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import {
  answerAsAnthropic,
  chatAnswer,
  chatChunk,
  outputMessage,
  respond,
  responseAnswer,
} from "../../support/vendors.ts";

const { upstream, gateway } = scriptedStage(
  (baseUrl) => {
    const served = paidModels(baseUrl);
    const [openai, ...others] = served.upstreams;
    const operations = { chat: "/chat/completions", responses: "/responses" };
    return {
      ...served,
      upstreams: [{ ...openai, profile: { operations, responses_items: "any" } } as never, ...others],
    };
  },
  { perTest: true },
);

const own = "cntr_v1";
const coded = /^cntr_v1_[\da-f]{32}$/;
const nobodys = `cntr_${"0".repeat(48)}`;

const annotation = { type: "container_file_citation", container_id: own, file_id: "cfile_1", filename: "a.csv" };
const text = { type: "output_text", text: "a.csv", annotations: [annotation], logprobs: [] };
const environment = { type: "container_reference", container_id: own };
const output: JsonObject[] = [
  { id: "ci_1", type: "code_interpreter_call", status: "completed", code: "1", container_id: own, outputs: null },
  { id: "sh_1", type: "shell_call", status: "completed", call_id: "c", action: { commands: ["ls"] }, environment },
  { ...outputMessage("a.csv"), content: [text] },
];

/** The tools that go on in a container: an interpreter's, and a shell's. */
const toolsIn = (id: string): JsonObject[] => [
  { type: "code_interpreter", container: id },
  { type: "shell", environment: { type: "container_reference", container_id: id } },
];
const auto: JsonObject[] = [{ type: "code_interpreter", container: { type: "auto" } }];
const asked: JsonObject = { model: "gpt-free", input: "Count.", tools: auto };

/** idsIn returns the ids of containers in a text, each once. */
const idsIn = (text: string) => [...new Set(text.match(/cntr_\w+/g))];

function answerWithCode(): void {
  upstream.script = (exchange) => respond(exchange, responseAnswer(output, { tools: toolsIn(own) }));
}

const respondTo = (body: JsonObject, apiKey = gateway.apiKey, headers = {}) =>
  ask(gateway, "/v1/responses", { ...asked, ...body }, { apiKey, headers });

describe("a container of code", () => {
  test("has one id in whole answers, streams, sockets, kept answers and replays", async () => {
    answerWithCode();
    const replayed = { "idempotency-key": "one" };
    const whole = await respondTo({}, undefined, replayed);
    const [id, ...others] = idsIn(whole.text);
    expect([id, others]).toEqual([expect.stringMatching(coded), []]);
    const socket = await openSocket({ port: gateway.port, apiKey: gateway.apiKey });
    const texts = [
      (await respondTo({ stream: true })).text,
      JSON.stringify(await socket.ask(asked)),
      (await respondTo({}, undefined, replayed)).text,
      (await ask(gateway, `/v1/responses/${whole.json.id}`)).text,
    ];
    await socket.close();
    for (const text of texts) expect(idsIn(text)).toEqual([id]);
  });

  test("goes on for its account, by its tools, its items and what is kept", async () => {
    answerWithCode();
    const { json, text } = await respondTo({});
    const [id = ""] = idsIn(text);
    for (const more of [
      { tools: toolsIn(id) },
      { input: [...json.output, { role: "user", content: "On." }] },
      { previous_response_id: json.id },
      { input: [{ role: "user", content: "x".repeat(70_000) }, ...json.output] },
    ]) {
      expect((await respondTo(more)).status).toBe(200);
      expect(idsIn(JSON.stringify(upstream.lastAsked))).toEqual([own]);
    }
  });

  test("is not found for another account, by whatever spelling, and its vendor is not asked", async () => {
    answerWithCode();
    const [id = ""] = idsIn((await respondTo({})).text);
    const { apiKey } = await openAccount(gateway);
    for (const given of [id, own, id.slice(0, -1), ""]) {
      for (const tool of toolsIn(given)) {
        const brought = { input: [{ type: "additional_tools", role: "developer", tools: [tool] }] };
        for (const more of [{ tools: [tool] }, brought]) {
          const { status, json } = await respondTo(more, apiKey);
          expect([status, json.error.message]).toEqual([404, expect.stringContaining("no container")]);
        }
      }
    }
    expect(upstream.received.length).toBe(1);
  });

  test("is lost in another account's conversation, as one that has expired", async () => {
    answerWithCode();
    const { json } = await respondTo({});
    const { apiKey } = await openAccount(gateway);
    for (const items of [json.output, output]) {
      expect((await respondTo({ input: [...items, { role: "user", content: "On." }] }, apiKey)).status).toBe(200);
      expect(idsIn(JSON.stringify(upstream.lastAsked))).toEqual([nobodys]);
    }
  });

  test("is not looked for in what functions are told, nor in metadata", async () => {
    answerWithCode();
    const parameters = { type: "object", properties: {}, default: { container_id: own, container: own } };
    const result = { type: "function_call_output", call_id: "c", output: JSON.stringify({ container_id: own }) };
    const call = { type: "function_call", call_id: "c", name: "f", arguments: "{}" };
    const sent = { tools: [{ type: "function", name: "f", parameters }], input: [call, result] };
    await respondTo({ ...sent, metadata: { container_id: own } });
    expect(upstream.lastAsked).toMatchObject({ ...sent, metadata: { container_id: own } });
  });

  test("is found by its id where it is one of a thousand of an answer; of a further one the id finds nothing", async () => {
    const many = Array.from({ length: 1001 }, (_, i) => ({ ...output[0], id: `ci_${i}`, container_id: `cntr_${i}` }));
    upstream.script = (exchange) => respond(exchange, responseAnswer(many as JsonObject[]));
    const { json } = await respondTo({});
    const [last, beyond] = json.output.slice(-2).map((item: JsonObject) => item.container_id);
    expect([last, beyond]).toEqual([expect.stringMatching(/^cntr_999_[\da-f]{32}$/), "cntr_1000"]);
    expect((await respondTo({ tools: toolsIn(beyond) })).status).toBe(404);
    const foreign = many.map((item, i) => ({ ...item, container_id: `cntr_${i}_${"0".repeat(32)}` }));
    answerWithCode();
    expect(idsIn((await respondTo({ input: foreign as JsonObject[] })).text)).toEqual([expect.stringMatching(coded)]);
  });
});

describe("a sound in which a model has answered", () => {
  const audio = { id: "audio_v1", data: "AAAA", expires_at: 1, transcript: "Hello" };
  const sounding: JsonObject = {
    model: "gpt-free",
    modalities: ["text", "audio"],
    audio: { voice: "alloy", format: "wav" },
    messages: [{ role: "user", content: "Hi" }],
  };
  const goingOn = (id: string): JsonObject => ({
    model: "gpt-free",
    messages: [
      { role: "user", content: "Hi" },
      { role: "assistant", audio: { id } },
      { role: "user", content: "And?" },
    ],
  });

  test.each([false, true])("goes on for its account alone (streamed: %s)", async (stream) => {
    upstream.script = (exchange) => {
      if (!exchange.asked.stream) return exchange.json(200, chatAnswer({ content: null, audio }));
      exchange.stream(chatChunk({ role: "assistant", audio }), chatChunk({}, "stop"));
    };
    const { text } = await ask(gateway, "/v1/chat/completions", { ...sounding, stream });
    const told = stream ? eventsIn(text)[0].choices[0].delta : JSON.parse(text).choices[0].message;
    expect(told.audio).toEqual({ ...audio, id: expect.stringMatching(/^audio_v1_[\da-f]{32}$/) });
    const { apiKey } = await openAccount(gateway);
    for (const id of [told.audio.id, "audio_v1"]) {
      const { status, json } = await ask(gateway, "/v1/chat/completions", goingOn(id), { apiKey });
      expect([status, json.error.param]).toEqual([404, "messages[1].audio.id"]);
    }
    expect(upstream.received.length).toBe(1);
    await ask(gateway, "/v1/chat/completions", goingOn(told.audio.id));
    expect(upstream.lastAsked).toMatchObject({ messages: goingOn("audio_v1").messages as never });
  });
});

test.each(["gpt-free", "claude"])(
  "secrets of tools reach their server, and are told to nobody again (%s)",
  async (model) => {
    const network_policy = { type: "allowlist", domain_secrets: [{ domain: "a.example", name: "K", value: "secret" }] };
    const tools: JsonObject[] = [
      {
        type: "mcp",
        server_label: "a",
        server_url: "https://a.example",
        authorization: "secret",
        headers: { k: "secret" },
      },
      { type: "shell", environment: { type: "container_auto", network_policy } },
      { type: "function", name: "f", parameters: { type: "object", properties: { headers: {} } } },
    ];
    upstream.script = (exchange) => {
      if (exchange.path.endsWith("/messages")) answerAsAnthropic(exchange);
      else respond(exchange, responseAnswer([outputMessage("Hi")], { tools: exchange.asked.tools as never }));
    };
    const within = [...tools, { type: "namespace", name: "n", description: "n", tools }];
    const input = [
      { type: "additional_tools", role: "developer", tools: within },
      { role: "user", content: "Hi" },
    ];
    const asked = { model, input: model === "claude" ? "Hi" : input, tools };
    const { text, json } = await ask(gateway, "/v1/responses", asked);
    if (model === "gpt-free") expect(upstream.lastAsked).toMatchObject({ tools, input });
    const kept = await ask(gateway, `/v1/responses/${json.id}`);
    const streamed = await ask(gateway, "/v1/responses", { ...asked, stream: true });
    const listed = await ask(gateway, `/v1/responses/${json.id}/input_items`);
    expect(listed.text).toContain("Hi");
    for (const told of [text, kept.text, streamed.text, listed.text]) {
      if (told !== listed.text || model === "gpt-free") expect(told).toContain('"headers":{}');
      expect(told).not.toContain("secret");
    }
  },
);
