/**
 * Callers of responses over an upstream that serves them itself: everything is relayed, and the gateway keeps its
 * own: storage, ids, money.
 */
import OpenAI from "openai";
import { beforeEach, describe, expect, test } from "vitest";
import { withVendor } from "../../../src/config/catalogue/vendors.ts";
import type { Config } from "../../../src/config/config.ts";
import type { ProfileConfig } from "../../../src/config/schema-profile.ts";
import type { JsonObject } from "../../../src/wire/json.ts";
import { SseReader } from "../../../src/wire/sse.ts";
import { call, familyNames } from "../../support/clients/families.ts";
import { hear } from "../../support/clients/hear.ts";
import { eventually } from "../../support/eventually.ts";
import { startTestGateway } from "../../support/gateway.ts";
import { eventStream, type ScriptedExchange } from "../../support/scripted-upstream.ts";
import { cost, paidModel, price } from "../../support/upstreams/paid-models.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import { refusesResponse, type StrictServer, strictServers } from "../../support/upstreams/strict-servers.ts";
import { vendors } from "../../support/upstreams/vendor-profiles.ts";
import {
  anthropicFrames,
  chatAnswer,
  outputMessage,
  respond,
  responseAnswer,
  responseEvents,
} from "../../support/vendors.ts";

// biome-ignore lint/suspicious/noExplicitAny: what the gateway says is looked into as it came.
type Any = any;

let asked: Any[] = [];

/** The price of one web search, in millionths of the unit. */
const searchCost = 1009;
const priority = { input: 2 * cost.input * 1_000_000, output: 2 * cost.output * 1_000_000 };

const profile: ProfileConfig & { operations: object } = {
  operations: { chat: "/chat/completions", responses: "/responses" },
  responses_items: "any",
  reasoning_items: "encrypted",
  developer: "kept",
  system: "anywhere",
  efforts: ["none", "low", "medium", "high"],
  effort_default: "medium",
};

function config(base_url: string): Partial<Config> {
  return {
    embeddedModels: false,
    // So that the head of a stream is held back.
    retries: { attempts: 2, share: 1 },
    upstreams: [
      {
        name: "far",
        kind: "openai",
        base_url,
        profile: { ...profile, models: [{ match: ["v-simple"], efforts: [], effort_default: "none" }] },
      },
      { name: "only", kind: "openai", base_url, profile: { ...profile, responses: "always" } },
      { name: "other", kind: "openai", base_url, profile },
      { name: "chat", kind: "openai", base_url },
      { name: "plain", kind: "openai", base_url, profile: { operations: profile.operations } },
    ],
    models: [
      paidModel("thinker", "far", { price: { ...price, web_search: searchCost, priority } }),
      paidModel("simple", "far"),
      paidModel("only", "only"),
      paidModel("elsewhere", "other"),
      paidModel("plain", "plain"),
      paidModel("twice", "far", {
        targets: ["far", "chat"].map((upstream, priority) => ({ upstream, model: "v-twice", priority, weight: 1 })),
      }),
    ],
  };
}

const { upstream, gateway } = scriptedStage(config);

beforeEach(() => {
  asked = [];
});

/** Has the upstream answer every request with this. */
function script(answer: (exchange: ScriptedExchange) => void): void {
  upstream.script = (exchange) => {
    asked.push({ path: exchange.path, ...exchange.asked });
    answer(exchange);
  };
}

interface Told {
  readonly status: number;
  readonly headers: Headers;
  /** The response, or the error. */
  readonly body: Any;
  readonly events: readonly Any[];
}

async function create(body: JsonObject, path = "/responses", headers: Record<string, string> = {}): Promise<Told> {
  const answer = await fetch(`${gateway.baseUrl}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/json", ...headers },
    body: JSON.stringify({ model: "thinker", ...body }),
  });
  const bytes = Buffer.from(await answer.arrayBuffer());
  if (!body.stream || answer.status !== 200) {
    return { status: answer.status, headers: answer.headers, body: JSON.parse(bytes.toString()), events: [] };
  }
  const reader = new SseReader();
  const events = [...reader.push(bytes), ...reader.end()].map(({ data }) => JSON.parse(data.toString()));
  return { status: answer.status, headers: answer.headers, body: events.at(-1)?.response, events };
}

const reasoning = (id = "rs_v1") => ({ id, type: "reasoning", summary: [], encrypted_content: `gAAA-${id}` });
const called = {
  id: "fc_v1",
  type: "function_call",
  status: "completed",
  call_id: "call_1",
  name: "weather",
  arguments: '{"city":"Rome"}',
};

/** Unknown members. */
const odd = {
  output: [
    reasoning(),
    { id: "ws_v1", type: "web_search_call", status: "completed", action: { type: "search", query: "q" } },
    { id: "nw_v1", type: "novel_item", status: "completed", content: { deep: [1, null, { a: "b" }] } },
    { ...called, namespace: "mcp__w", novel: true },
    outputMessage("Hello", { phase: "final" }),
  ],
  more: { novel_key: { a: [1] }, context_management: null, billing: { payer: "x" } },
};

describe.each([false, true])("an answer, stream: %s", (stream) => {
  test("reaches its caller complete", async () => {
    const response = responseAnswer(odd.output, odd.more);
    script((exchange) => respond(exchange, response));
    const told = await create({ input: "hi", stream });
    expect(told.status).toBe(200);
    expect(told.body).toMatchObject({ ...odd.more, model: "v-response", store: true, previous_response_id: null });
    expect(told.body.id).toMatch(/^resp_[0-9a-z]{25}$/);
    const output = told.body.output as Any[];
    expect(output.map(({ id: _, ...item }) => item)).toEqual(odd.output.map(({ id: _, ...item }: Any) => item));
    for (const [i, item] of output.entries()) expect(item.id).toMatch(new RegExp(`^${odd.output[i]?.id}_`));
    const { id: _, output: __, store: ___, ...rest } = response as Any;
    expect(told.body).toMatchObject(rest);
  });

  test("is charged by the usage that its upstream reports", async () => {
    script((exchange) => respond(exchange, responseAnswer([outputMessage("Hello")])));
    const told = await create({ input: "hi", stream });
    const usage = { input_tokens: 9, input_tokens_details: { cached_tokens: 4 }, output_tokens: 5 };
    expect(told.body.usage).toMatchObject(usage);
    expect(await written(told)).toMatchObject({
      cost: 5 * cost.input + 4 * cost.cacheRead + 5 * cost.output,
      operation: "responses",
      input: 5,
      cache_read: 4,
      output: 5,
      reasoning: 3,
      estimated: 0,
    });
  });

  test("is charged by a count where its upstream reports nothing", async () => {
    script((exchange) => respond(exchange, responseAnswer([outputMessage("Hello there")], { usage: null })));
    const { input, output, estimated } = await written(await create({ input: "hi", stream }));
    expect([input > 2, output, estimated]).toEqual([true, 2, 1]);
  });

  test("that was cut off is reported as such, even without content", async () => {
    const details = { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } };
    script((exchange) => respond(exchange, responseAnswer([], details)));
    const told = await create({ input: "hi", stream });
    expect([told.status, told.body.status, told.body.output]).toEqual([200, "incomplete", []]);
  });
});

test("a history of vendors' tools reaches a server that knows them unchanged", async () => {
  script((exchange) => respond(exchange, responseAnswer([outputMessage("Hello")])));
  const screenshot = { type: "computer_screenshot", image_url: "data:image/png;base64,aGk=" };
  const printed = { stdout: "a", stderr: "", outcome: { type: "exit", exit_code: 0 } };
  const input = [
    { type: "message", role: "user", content: "hi" },
    { type: "computer_call", id: "cu_1", call_id: "c1", status: "completed", pending_safety_checks: [], actions: [] },
    { type: "computer_call_output", call_id: "c1", output: screenshot, acknowledged_safety_checks: [] },
    { type: "shell_call", id: "sh_1", call_id: "c2", status: "completed", action: { commands: ["ls"] } },
    { type: "shell_call_output", call_id: "c2", output: [printed], max_output_length: 9 },
    { type: "mcp_call", id: "m_1", server_label: "s", name: "n", arguments: "{}", output: null, error: null },
    { type: "mcp_approval_response", approval_request_id: "r_1", approve: true },
    { type: "program_output", id: "po_1", call_id: "c3", result: "1", status: "completed" },
  ];
  expect((await create({ input })).status).toBe(200);
  expect(asked.at(-1).input).toEqual(input);
});

/** Returns the record of a call. */
async function written({ headers }: Told): Promise<Any> {
  const id = headers.get("x-request-id");
  let found: Any;
  await eventually(async () => {
    const calls = await gateway.storage.requests.page({ accountId: gateway.accountId }, undefined, 200);
    found = calls.find((one) => one.id === id);
    if (!found) throw new Error(`${id} has not been written down`);
  });
  return found;
}

describe("a stream", () => {
  test("arrives event by event, in order, with the ids of its items", async () => {
    const response = responseAnswer([reasoning(), called, outputMessage("Hello")]);
    script((exchange) => respond(exchange, response));
    const { events } = await create({ input: "hi", stream: true });
    const sent = responseEvents(response) as Any[];
    expect(events.map(({ type, sequence_number }) => [type, sequence_number])).toEqual(
      sent.map(({ type, sequence_number }) => [type, sequence_number]),
    );
    const ids = (events.at(-1).response.output as Any[]).map(({ id }) => id);
    for (const { item_id, item, output_index } of events) {
      if (item_id !== undefined) expect(item_id).toBe(ids[output_index]);
      if (item !== undefined) expect(item.id).toBe(ids[output_index]);
    }
    for (const { response: told } of events) if (told) expect(told.id).toBe(events[0].response.id);
    const plain = (event: Any) => ({ ...event, item_id: undefined, item: undefined, response: undefined });
    expect(events.map(plain)).toEqual(sent.map(plain));
  });

  test("has one id for each item, also where its upstream gives it another in each event", async () => {
    const events = responseEvents(responseAnswer([reasoning(), called, outputMessage("Hello")]));
    let count = 0;
    const rotated = (value: JsonObject): JsonObject => ({ ...value, ...(value.id ? { id: `id_${count++}` } : {}) });
    script((exchange) => {
      exchange.head(200, eventStream);
      const changed = events.map((event: Any) => ({
        ...event,
        ...(event.item_id && { item_id: `id_${count++}` }),
        ...(event.item && { item: rotated(event.item) }),
        ...(event.response && { response: { ...event.response, output: event.response.output.map(rotated) } }),
      }));
      exchange.end(anthropicFrames(...changed));
    });
    const { events: told, body } = await create({ input: "hi", stream: true, store: false });
    for (const [place, { id }] of body.output.entries()) {
      const named = told.filter(({ output_index: index }) => index === place).map((one) => one.item?.id ?? one.item_id);
      expect(new Set(named)).toEqual(new Set([id]));
    }
    expect(new Set(body.output.map(({ id }: Any) => id)).size).toBe(3);
  });

  test("keeps unknown events", async () => {
    const response = responseAnswer([outputMessage("Hello")]);
    const novel = {
      type: "response.novel.delta",
      item_id: "msg_v1",
      output_index: 0,
      delta: { a: [1] },
      sequence_number: 99,
    };
    script((exchange) => {
      const [created, ...rest] = responseEvents(response);
      exchange.head(200, eventStream);
      exchange.end(anthropicFrames(created as Any, novel, ...rest));
    });
    const { events } = await create({ input: "hi", stream: true });
    expect(events[1]).toEqual({ ...novel, item_id: expect.stringMatching(/^msg_v1_/) });
  });

  test("ends with its last event, whatever its upstream goes on to send", async () => {
    script((exchange) => {
      exchange.head(200, eventStream);
      void exchange.write(
        anthropicFrames(...responseEvents(responseAnswer([outputMessage("Hello")])), { type: "response.novel" }),
      );
    });
    const { events } = await create({ input: "hi", stream: true });
    expect(events.at(-1).type).toBe("response.completed");
  });

  test("has its items at the end, even where its server omits them there", async () => {
    script((exchange) => {
      const events = responseEvents(responseAnswer([called, outputMessage("Hello")]));
      const last = { ...events.at(-1), response: responseAnswer([]) };
      exchange.head(200, eventStream);
      exchange.end(anthropicFrames(...events.slice(0, -1), last));
    });
    const first = await create({ input: "hi", stream: true });
    expect(first.body.output.map(({ type }: Any) => type)).toEqual(["function_call", "message"]);
    await create({ previous_response_id: first.body.id, input: "and?" });
    expect(asked.at(-1).input.map(({ type }: Any) => type)).toEqual([
      "message",
      "function_call",
      "function_call_output",
      "message",
      "message",
    ]);
  });

  test("that is made of a whole answer announces each text of its reasoning, as the vendor's SDK expects", async () => {
    const [told, hidden] = [
      { type: "reasoning_text", text: "Two and two." },
      { type: "summary_text", text: "Adding." },
    ];
    const thought = { ...reasoning(), summary: [hidden], content: [told] };
    script((exchange) => exchange.json(200, responseAnswer([thought, outputMessage("Four")])));
    const sdk = new OpenAI({ baseURL: gateway.baseUrl, apiKey: gateway.apiKey, maxRetries: 0 });
    const stream = sdk.responses.stream({ model: "thinker", input: "2 + 2?", store: false });
    const { output, output_text } = await stream.finalResponse();
    expect([output[0], output_text]).toEqual([expect.objectContaining({ summary: [hidden], content: [told] }), "Four"]);
  });

  test("that is answered in the other form is converted, in both directions", async () => {
    const response = responseAnswer([reasoning(), called, outputMessage("Hello")]);
    script((exchange) => exchange.json(200, response));
    const streamed = await create({ input: "hi", stream: true });
    expect(streamed.events.map(({ type }) => type)).toContain("response.output_text.delta");
    expect(streamed.body.output).toHaveLength(3);
    script((exchange) => {
      exchange.head(200, eventStream);
      exchange.end(anthropicFrames(...responseEvents(response)));
    });
    const whole = await create({ input: "hi" });
    expect(whole.body.output.map(({ id: _, ...item }: Any) => item)).toEqual(
      streamed.body.output.map(({ id: _, ...item }: Any) => item),
    );
  });
});

describe("a request", () => {
  beforeEach(() => script((exchange) => respond(exchange, responseAnswer([outputMessage("Hello")]))));

  test("passes through as it came, except for the gateway's own members", async () => {
    const body = {
      input: [
        { type: "message", role: "user", content: [{ type: "input_text", text: "hi" }], novel: 1 },
        { type: "novel_item", id: "nw_1", payload: { a: [null] } },
        { type: "additional_tools", tools: [{ type: "namespace", name: "n", tools: [] }] },
      ],
      instructions: "Be brief.",
      tools: [
        { type: "web_search" },
        { type: "custom", name: "patch", format: { type: "grammar" } },
        { type: "novel" },
      ],
      tool_choice: { type: "novel" },
      include: ["web_search_call.action.sources"],
      reasoning: { effort: "high", summary: "auto", novel: true },
      text: { verbosity: "low", novel: 1 },
      truncation: "auto",
      max_tool_calls: 3,
      metadata: { a: "b" },
      client_metadata: { c: "d" },
      novel_key: { e: 1 },
    };
    const { status, headers } = await create({ ...body, store: true, background: false });
    expect([status, headers.get("x-gateway-dropped")]).toEqual([200, null]);
    const include = [...body.include, "reasoning.encrypted_content"];
    expect(asked).toEqual([
      {
        path: "/v1/responses",
        model: "v-thinker",
        store: false,
        ...body,
        include,
        max_output_tokens: asked[0].max_output_tokens,
      },
    ]);
  });

  const page = { type: "web_search_call", status: "completed", action: { type: "open_page", url: "https://a.b" } };
  const search = { type: "web_search_call", status: "completed", action: { type: "search", query: "q" } };
  test.each([false, true])("that searches the web is charged by the searches, stream: %s", async (stream) => {
    const output = [
      { ...search, id: "ws_1" },
      { ...page, id: "ws_2" },
      { ...search, id: "ws_3", action: undefined },
    ];
    script((exchange) => respond(exchange, responseAnswer([...output, outputMessage("Found.")])));
    const told = await create({ input: "hi", tools: [{ type: "web_search" }], stream });
    expect([told.status, asked[0].tools]).toEqual([200, [{ type: "web_search" }]]);
    const row = await written(told);
    expect(row.cost).toBe(5 * cost.input + 4 * cost.cacheRead + 5 * cost.output + 2 * searchCost);
  });

  test.each([0, 1])(
    "that searches the web is charged by the %d searches that are billed, where that is told",
    async (billed) => {
      const tool_usage = { web_search: { num_requests: billed } };
      for (const stream of [false, true]) {
        const output = [{ ...search, id: "ws_1" }, { ...search, id: "ws_2" }, outputMessage("Found.")];
        script((exchange) => respond(exchange, { ...responseAnswer(output), tool_usage }));
        const row = await written(await create({ input: "hi", tools: [{ type: "web_search" }], stream }));
        const tokens = 5 * cost.input + 4 * cost.cacheRead + 5 * cost.output;
        expect(row.cost, `stream: ${stream}`).toBe(tokens + billed * searchCost);
      }
    },
  );

  test("that searches the web is charged no search where its usage counts none", async () => {
    const usage = { ...(responseAnswer([]).usage as JsonObject), num_sources_used: 0 };
    for (const stream of [false, true]) {
      script((exchange) =>
        respond(exchange, { ...responseAnswer([{ ...search, id: "ws_1" }, outputMessage("Found.")]), usage }),
      );
      const row = await written(await create({ input: "hi", tools: [{ type: "web_search" }], stream }));
      expect(row.cost, `stream: ${stream}`).toBe(5 * cost.input + 4 * cost.cacheRead + 5 * cost.output);
    }
  });

  test("that searched before its stream broke off is charged for that, too", async () => {
    const charged = async (...before: readonly JsonObject[]) => {
      const events = responseEvents(responseAnswer([...before, outputMessage("Found.")]));
      const text = events.findIndex(({ type }) => type === "response.output_text.delta");
      script((exchange) => {
        exchange.head(200, eventStream);
        exchange.end(anthropicFrames(...(events.slice(0, text + 1) as Any)));
      });
      const told = await create({ input: "hi", tools: [{ type: "web_search" }], stream: true });
      return Number((await written(told)).cost);
    };
    const plain = await charged();
    expect(plain).toBeGreaterThan(0);
    expect(await charged({ ...search, id: "ws_1" }, { ...page, id: "ws_2" })).toBe(plain + searchCost);
  });

  test("that searches has a hold for its tool's maximum, or its bound on all tools", async () => {
    const held = async (body: JsonObject) => {
      const answer = await create({ path: "/v1/responses", request: { model: "thinker", ...body } }, "/explain");
      return Number(answer.body.models[0].hold.wanted) * 1e6;
    };
    const input = [{ type: "additional_tools", tools: [{ type: "web_search" }] }];
    const bound = { max_output_tokens: 100 };
    const plain = await held({ ...bound, input });
    const bounded = await held({ ...bound, input, max_tool_calls: 3 });
    expect(Math.round(plain - bounded)).toBeGreaterThanOrEqual(17 * searchCost - 100 * cost.input);
    expect(Math.round(plain - bounded)).toBeLessThanOrEqual(17 * searchCost);
  });

  test("drops and names the vendor's tools without a price", async () => {
    const tools = [
      { type: "code_interpreter", container: { type: "auto" } },
      { type: "function", name: "f", parameters: {} },
      { type: "web_search" },
    ];
    const kept = { type: "function", name: "f", parameters: {} };
    const input = [
      { type: "additional_tools", tools },
      { role: "user", content: "hi" },
    ];
    const left = await create({ input, tools, tool_choice: { type: "code_interpreter" } });
    expect([asked[0].input[0].tools, asked[0].tools]).toEqual([tools.slice(1), tools.slice(1)]);
    expect(asked[0]).not.toHaveProperty("tool_choice");
    expect(left.headers.get("x-gateway-dropped")).toBe("input[0].tools[0], tools[0], tool_choice");
    const unsearched = await create({ model: "elsewhere", input: "hi", tools });
    expect([asked[1].tools, unsearched.headers.get("x-gateway-dropped")]).toEqual([[kept], "tools[0], tools[2]"]);
    await create({ model: "elsewhere", input: "hi", tools: [{ type: "web_search" }], tool_choice: "required" });
    expect([asked[2].tools, asked[2].tool_choice]).toEqual([undefined, undefined]);
    const allowed = {
      type: "allowed_tools",
      mode: "auto",
      tools: [{ type: "web_search" }, { type: "function", name: "f" }],
    };
    await create({ model: "elsewhere", input: "hi", tools, tool_choice: allowed });
    expect(asked[3].tool_choice).toEqual({ ...allowed, tools: allowed.tools.slice(1) });
    await create({ model: "only", messages: [{ role: "user", content: "hi" }], tools } as Any, "/chat/completions");
    expect(asked[4].tools).toEqual([{ ...kept, strict: false }]);
  });

  test.each([false, true])("for a service tier is charged by the reported one, stream: %s", async (stream) => {
    for (const [tier, rate] of [
      ["priority", 2],
      ["default", 1],
    ] as const) {
      script((exchange) => respond(exchange, responseAnswer([outputMessage("Hello")], { service_tier: tier })));
      const row = await written(await create({ input: "hi", service_tier: "priority", stream }));
      const usual = 5 * cost.input + 4 * cost.cacheRead + 5 * cost.output;
      expect([tier, row.cost]).toEqual([tier, rate === 2 ? 9 * 2 * cost.input + 5 * 2 * cost.output : usual]);
    }
  });

  test("asks for encrypted reasoning only where it is stored, and where the model reasons", async () => {
    await create({ input: "hi", store: false });
    await create({ input: "hi", model: "simple", include: ["reasoning.encrypted_content"] });
    await create({ input: "hi", model: "simple", include: ["reasoning.encrypted_content", "other"] });
    expect(asked.map(({ include }) => include)).toEqual([undefined, undefined, ["other"]]);
  });

  test("that continues a response of reasoning alone contains it, without the id that nothing follows", async () => {
    script((exchange) => respond(exchange, responseAnswer([reasoning()])));
    const first = await create({ input: "How warm?" });
    const second = await create({ previous_response_id: first.body.id, input: "And?" });
    expect([second.status, second.headers.get("x-gateway-dropped")]).toEqual([200, null]);
    const { id: _, ...vain } = reasoning();
    expect(asked[1].input[1]).toEqual(vain);
  });

  test("that continues a stored response contains all of it, as its upstream knows it", async () => {
    script((exchange) => respond(exchange, responseAnswer([reasoning(), called])));
    const first = await create({ input: "How warm?", tools: [{ type: "function", name: "weather", parameters: {} }] });
    const output = { type: "function_call_output", call_id: "call_1", output: "20" };
    const second = await create({ previous_response_id: first.body.id, input: [output], stream: true });
    expect(asked[1]).not.toHaveProperty("previous_response_id");
    expect(asked[1].input).toEqual([
      { type: "message", role: "user", content: "How warm?" },
      reasoning(),
      called,
      output,
    ]);
    expect(second.body.previous_response_id).toBe(first.body.id);
    for (const { response } of second.events) if (response) expect(response.previous_response_id).toBe(first.body.id);
    const kept = await fetch(`${gateway.baseUrl}/responses/${second.body.id}`, {
      headers: { authorization: `Bearer ${gateway.apiKey}` },
    });
    expect(await kept.json()).toEqual(second.body);
  });

  test("may refer to items, and send them back", async () => {
    script((exchange) => respond(exchange, responseAnswer([reasoning(), called])));
    const { body } = await create({ input: "How warm?" });
    const references = body.output.map(({ id }: Any) => ({ type: "item_reference", id }));
    const output = { type: "function_call_output", call_id: "call_1", output: "20" };
    await create({ input: [...references, output] });
    await create({ input: [...body.output, output] });
    expect(asked[1].input).toEqual([reasoning(), called, output]);
    expect(asked[2].input).toEqual([reasoning(), called, output]);
  });

  test("that refers to an unknown item is refused, and not sent", async () => {
    for (const id of ["rs_v1_5e884898_0123456789abcdefghjkmnpqr_0", "rs_v1", "msg_0123456789abcdefghjkmnpqr_0"]) {
      const { status, body } = await create({ input: [{ type: "item_reference", id }] });
      expect([status, body.error.message]).toEqual([404, expect.stringContaining(id)]);
    }
    expect((await create({ previous_response_id: "resp_0", input: "hi" })).status).toBe(400);
    expect(asked).toEqual([]);
  });

  test("contains no reasoning but its upstream's", async () => {
    script((exchange) => respond(exchange, responseAnswer([reasoning(), called])));
    const { body } = await create({ input: "How warm?" });
    const output = { type: "function_call_output", call_id: "call_1", output: "20" };
    const sent = await create({ model: "elsewhere", input: [...body.output, output] });
    expect([sent.status, sent.headers.get("x-gateway-dropped")]).toEqual([200, "input[0]"]);
    expect(asked[1].input).toEqual([called, output]);
    const made = {
      id: "rs_0123456789abcdefghjkmnpqr_0",
      type: "reasoning",
      summary: [],
      encrypted_content: "thinking:W10",
    };
    await create({
      input: [made, { type: "reasoning", summary: [], content: [{ type: "reasoning_text", text: "hm" }] }, "x"].slice(
        0,
        2,
      ) as Any,
    });
    expect(asked[2].input).toEqual([]);
  });

  test("contains what its upstream has encrypted itself, where nothing is known of that", async () => {
    script((exchange) => respond(exchange, responseAnswer([reasoning(), called])));
    const { body } = await create({ model: "plain", input: "How warm?" });
    const output = { type: "function_call_output", call_id: "call_1", output: "20" };
    for (const next of [{ input: [...body.output, output] }, { previous_response_id: body.id, input: [output] }]) {
      const sent = await create({ model: "plain", ...next });
      expect([sent.status, sent.headers.get("x-gateway-dropped")]).toEqual([200, null]);
      expect(asked.at(-1).input.slice(-3)).toEqual([reasoning(), called, output]);
    }
    const elsewhere = await create({ model: "thinker", input: body.output });
    expect(elsewhere.headers.get("x-gateway-dropped")).toBe("input[0]");
    const foreign = await create({ model: "plain", input: [reasoning(), called, output] });
    expect(foreign.headers.get("x-gateway-dropped")).toBe("input[0]");
  });

  test("is summarised by the gateway itself, for any upstream", async () => {
    script((exchange) => {
      if (exchange.path === "/v1/responses") respond(exchange, responseAnswer([outputMessage("Hello")]));
      else
        exchange.json(200, {
          choices: [{ index: 0, message: { role: "assistant", content: "They greeted." }, finish_reason: "stop" }],
        });
    });
    const { body } = await create(
      { input: [{ role: "user", content: "hi" }, outputMessage("Hello")] as Any },
      "/responses/compact",
    );
    expect(asked[0].path).toBe("/v1/chat/completions");
    const [said, item] = body.output;
    expect([said.role, said.content, item.type]).toEqual(["user", [{ type: "input_text", text: "hi" }], "compaction"]);
    await create({ input: [...body.output, { role: "user", content: "and?" }] });
    expect(asked[1].path).toBe("/v1/responses");
    expect(asked[1].input[1]).toEqual({ role: "user", content: expect.stringContaining("They greeted.") });
  });

  test("with agents' items is translated to chat for a server that knows functions only", async () => {
    script((exchange) => {
      if (exchange.path === "/v1/responses") respond(exchange, responseAnswer([outputMessage("Hello")]));
      else
        exchange.json(200, {
          choices: [{ index: 0, message: { role: "assistant", content: "Hello" }, finish_reason: "stop" }],
        });
    });
    const tools = [{ type: "namespace", name: "files", tools: [{ type: "function", name: "read", parameters: {} }] }];
    await create({ model: "plain", input: "hi", tools });
    await create({ model: "plain", input: "hi" });
    expect(asked.map(({ path }) => path)).toEqual(["/v1/chat/completions", "/v1/responses"]);
    expect(asked[0].tools[0].function.name).toBe("files__read");
  });

  test("with items that its server made itself goes back there, though it knows few others", async () => {
    const searched = {
      id: "ws_v1",
      type: "web_search_call",
      status: "completed",
      action: { type: "search", query: "q" },
    };
    const consent = {
      id: "mcpr_v1",
      type: "mcp_approval_request",
      name: "read",
      server_label: "files",
      arguments: "{}",
    };
    script((exchange) => respond(exchange, responseAnswer([searched, consent])));
    const { body } = await create({ model: "plain", input: "hi" });
    const answer = { type: "mcp_approval_response", approve: true, approval_request_id: body.output[1].id };
    await create({ model: "plain", input: [answer], previous_response_id: body.id });
    expect(asked.map(({ path }) => path)).toEqual(["/v1/responses", "/v1/responses"]);
    expect(asked[1].input.slice(1)).toEqual([searched, consent, { ...answer, approval_request_id: "mcpr_v1" }]);

    script((exchange) => exchange.json(200, chatAnswer({ content: "Hello" })));
    await create({
      model: "plain",
      input: [{ role: "user", content: "hi" }, searched, { role: "user", content: "so?" }],
    });
    expect(asked.at(-1).path).toBe("/v1/chat/completions");
  });

  test("is bounded by its payer's credit", async () => {
    const poor = await startTestGateway(config(upstream.baseUrl), { postpaid: false, recharge: 20_000 });
    try {
      const answer = await fetch(`${poor.baseUrl}/responses`, {
        method: "POST",
        headers: { authorization: `Bearer ${poor.apiKey}`, "content-type": "application/json" },
        body: JSON.stringify({ model: "thinker", input: "hi" }),
      });
      expect(answer.status).toBe(200);
      expect(asked.at(-1).max_output_tokens).toBeGreaterThan(0);
      expect(asked.at(-1).max_output_tokens).toBeLessThan(20_000 / cost.output);
      expect(asked.at(-1)).not.toHaveProperty("max_tokens");
    } finally {
      await poor.close();
    }
  });
});

describe("callers of every family see the usage they are charged for", () => {
  const usage = { chat: "chat.completion", messages: "message", responses: "response", completions: "text_completion" };
  test.each(familyNames.flatMap((family) => [false, true].map((stream) => ({ family, stream }))))(
    "$family, stream: $stream",
    async ({ family, stream }) => {
      script((exchange) => respond(exchange, responseAnswer([reasoning(), outputMessage("Hello")])));
      const more =
        stream && family !== "messages" && family !== "responses" ? { stream_options: { include_usage: true } } : {};
      const answer = await call(gateway, { family, model: "only", stream, apiKey: gateway.apiKey, more });
      expect([answer.status, asked[0].path]).toEqual([200, "/v1/responses"]);
      expect(answer.text).toContain(usage[family]);
      const counts =
        family === "messages" ? ['"input_tokens":5', '"cache_read_input_tokens":4'] : ["9", '"cached_tokens":4'];
      for (const count of [...counts, family === "messages" ? '"thinking_tokens":3' : '"reasoning_tokens":3'])
        expect(answer.text).toContain(count);
      const { "x-gateway-cost": cost0, "x-gateway-usage": used } = stream ? answer.trailers : answer.headers;
      if (!stream) expect(used).toBe("input=5, cache_read=4, output=5, reasoning=3");
      const id = answer.headers["x-request-id"] as string;
      const row = await written({ headers: new Headers({ "x-request-id": id }) } as Told);
      expect(row.cost).toBe(5 * cost.input + 4 * cost.cacheRead + 5 * cost.output);
      if (cost0 !== undefined) expect(Number(cost0) * 1e6).toBe(row.cost);
    },
  );
});

describe("an invalid answer", () => {
  const created = {
    type: "response.created",
    sequence_number: 0,
    response: responseAnswer([], { status: "in_progress" }),
  };
  const streamOf =
    (...events: readonly object[]) =>
    (exchange: ScriptedExchange) => {
      exchange.head(200, eventStream);
      exchange.end(anthropicFrames(created, ...(events as Any)));
    };
  const failed = responseAnswer([], { status: "failed", error: { code: "server_error", message: "It broke." } });
  const cases: readonly [string, (exchange: ScriptedExchange) => void, boolean, number, RegExp][] = [
    ["a response that failed", (exchange) => exchange.json(200, failed), false, 502, /It broke/],
    [
      "one that is not over",
      (exchange) => exchange.json(200, responseAnswer([], { status: "queued" })),
      false,
      502,
      /./,
    ],
    [
      "one that was cancelled",
      (exchange) => exchange.json(200, responseAnswer([], { status: "cancelled" })),
      false,
      502,
      /./,
    ],
    ["one without output", (exchange) => exchange.json(200, responseAnswer([])), false, 502, /./],
    [
      "one whose output is no list",
      (exchange) => exchange.json(200, { object: "response", output: {} }),
      false,
      502,
      /./,
    ],
    ["nothing", (exchange) => exchange.json(200, {}), false, 502, /./],
    ["a chat without a word", (exchange) => exchange.json(200, { choices: [{ message: {} }] }), false, 502, /./],
    [
      "an error in its place",
      (exchange) => exchange.json(200, { error: { message: "Slow down.", code: "rate_limit_exceeded" } }),
      false,
      429,
      /Slow down/,
    ],
    [
      "a conversation that is too long",
      (exchange) =>
        exchange.json(400, {
          error: { message: "Your input exceeds the context window of this model.", code: "context_length_exceeded" },
        }),
      false,
      400,
      /context window/,
    ],
    [
      "a stream of nothing but its end",
      streamOf({ type: "response.completed", response: responseAnswer([]) }),
      true,
      502,
      /./,
    ],
    ["a stream that failed", streamOf({ type: "response.failed", response: failed }), true, 502, /It broke/],
    [
      "a stream of an error",
      streamOf({ type: "error", code: "server_error", message: "It broke." }),
      true,
      502,
      /It broke/,
    ],
    ["a stream that breaks off", streamOf(), true, 502, /./],
    [
      "a stream of what is no JSON",
      (exchange) => {
        exchange.head(200, eventStream);
        exchange.end("data: {\n\n");
      },
      true,
      502,
      /./,
    ],
  ];

  test.each(cases)("%s is reported as an error, and not charged", async (_, answer, stream, status, words) => {
    script(answer);
    const told = await create({ input: "hi", stream });
    expect([told.status, told.body?.error?.message]).toEqual([status, expect.stringMatching(words)]);
    expect((await written(told)).cost).toBe(0);
  });

  test("a stream that says a prompt is invalid is a refusal, whose reported input is charged", async () => {
    const error = { code: "invalid_prompt", message: "No." };
    script(streamOf({ type: "response.failed", response: { ...failed, error } }));
    const told = await create({ input: "hi", stream: true });
    expect([told.status, told.body?.error?.message]).toEqual([400, expect.stringMatching(/No/)]);
    expect(await written(told)).toMatchObject({ cost: 74, waived: 0 });
  });

  test("a stream that fails after its first content ends in an error, and what came is charged", async () => {
    script((exchange) => {
      const [, , ...events] = responseEvents(responseAnswer([outputMessage("Hello there, you")]));
      exchange.head(200, eventStream);
      exchange.end(anthropicFrames(created, ...events.slice(0, 4), { type: "response.failed", response: failed }));
    });
    const told = await create({ input: "hi", stream: true });
    const { status, events } = told;
    expect(status).toBe(200);
    expect(events.at(-1).type).toBe("error");
    expect(events.some(({ type }) => type === "response.completed")).toBe(false);
    expect((await written(told)).cost).toBeGreaterThan(0);
  });
});

test.each(
  strictServers
    .filter(({ responses }) => responses)
    .map((server) => [`${server.model} at ${server.vendor}`, server] as const),
)("%s takes a conversation of several turns with tools", async (_, server: StrictServer) => {
  const known = { name: "strict", kind: "openai", base_url: upstream.baseUrl, vendor: server.vendor } as const;
  const strict = await startTestGateway({
    embeddedModels: false,
    upstreams: [withVendor(known, vendors)],
    models: [
      {
        id: "m",
        aliases: [],
        family: "f",
        kind: "chat",
        targets: [{ upstream: "strict", model: server.model, priority: 0, weight: 1 }],
      },
    ],
  });
  const turns = [[reasoning(), called], [reasoning("rs_v2"), outputMessage("20 degrees.")], [outputMessage("Yes.")]];
  script((exchange) => {
    const refused = refusesResponse(server, exchange.asked);
    if (refused) exchange.json(400, refused);
    else respond(exchange, responseAnswer(turns[asked.length - 1] ?? []));
  });
  const ask = async (body: object) => {
    const answer = await fetch(`${strict.baseUrl}/responses`, {
      method: "POST",
      headers: { authorization: `Bearer ${strict.apiKey}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "m", ...body }),
    });
    const told = (await answer.json()) as Any;
    expect([answer.status, told.error?.message]).toEqual([200, undefined]);
    return told;
  };
  const tools = [{ type: "function", name: "weather", parameters: { type: "object", properties: {} }, strict: false }];
  try {
    const first = await ask({
      input: [
        { role: "developer", content: "Be brief." },
        { role: "user", content: "How warm?" },
      ],
      tools,
    });
    const output = { type: "function_call_output", call_id: "call_1", output: "20" };
    const second = await ask({ previous_response_id: first.id, input: [output], tools });
    const input = [
      { role: "user", content: "How warm?" },
      ...first.output,
      output,
      ...second.output,
      { role: "user", content: "Sure?" },
    ];
    await ask({ input, tools, store: false });
  } finally {
    await strict.close();
  }
});

describe("a caller that disconnects from a stream", () => {
  const events = responseEvents(responseAnswer([reasoning(), outputMessage("Hello there, you")]));
  const firstDelta = events.findIndex(({ type }) => type === "response.output_text.delta");

  async function leftAfter(count: number): Promise<{ exchange: ScriptedExchange; row: () => Promise<Any> }> {
    upstream.script = undefined;
    const heard = hear(gateway, {
      ...{ path: "/v1/responses", apiKey: gateway.apiKey },
      body: { model: "thinker", input: "hi", stream: true },
    });
    const exchange = await upstream.next();
    exchange.head(200, eventStream);
    await exchange.write(anthropicFrames(...events.slice(0, count)));
    if (count > firstDelta) await heard.begun;
    const before = await gateway.storage.requests.page({ accountId: gateway.accountId }, undefined, 200);
    await heard.leave();
    const known = new Set(before.map(({ id }) => id));
    let row: Any;
    const find = async () => {
      await eventually(async () => {
        const calls = await gateway.storage.requests.page({ accountId: gateway.accountId }, undefined, 200);
        row = calls.find(({ id }) => !known.has(id));
        if (!row) throw new Error("the call has not been written down");
      });
      return row;
    };
    return { exchange, row: find };
  }

  test("after its first content is charged the usage that its upstream reports at the end", async () => {
    const { exchange, row } = await leftAfter(firstDelta + 1);
    await exchange.write(anthropicFrames(...events.slice(firstDelta + 1)));
    expect(await row()).toMatchObject({ output: 5, cost: 5 * cost.input + 4 * cost.cacheRead + 5 * cost.output });
    exchange.end();
  });

  test("before it pays nothing, and its upstream is stopped", async () => {
    const { exchange, row } = await leftAfter(2);
    await exchange.left;
    expect((await row()).cost).toBe(0);
  });
});

test("a failing target is replaced by one that speaks chat", async () => {
  script((exchange) => {
    if (exchange.path === "/v1/responses") exchange.json(503, { error: { message: "busy" } });
    else
      exchange.json(200, {
        choices: [{ index: 0, message: { role: "assistant", content: "Hello" }, finish_reason: "stop" }],
      });
  });
  const { status, body, headers } = await create({ model: "twice", input: "hi", reasoning: { effort: "high" } });
  expect([status, headers.get("x-gateway-attempts"), headers.get("x-gateway-upstream")]).toEqual([200, "2", "chat"]);
  expect(asked.map(({ path }) => path)).toEqual(["/v1/responses", "/v1/chat/completions"]);
  expect([asked[0].store, asked[1].store]).toEqual([false, undefined]);
  expect(body.output[0].content[0].text).toBe("Hello");
});
