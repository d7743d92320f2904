/** What a kept response was an answer to, page by page; and how many tokens a request would have. */
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import OpenAI from "openai";
import { beforeAll, describe, expect, test } from "vitest";
import { InferenceService } from "../../../gen/modelgateway/v1/inference_pb.ts";
import { binaryOptions, type JsonObject } from "../../../src/wire/json.ts";
import { modelAt, now, upstreamAt } from "../../support/gateway.ts";
import { openAccount } from "../../support/payer.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import { chatAnswer } from "../../support/vendors.ts";

interface Item {
  readonly id: string;
  readonly [key: string]: unknown;
}
interface Page {
  readonly object: string;
  readonly data: readonly Item[];
  readonly first_id: string | null;
  readonly last_id: string | null;
  readonly has_more: boolean;
  readonly error?: { readonly param: string | null; readonly message: string };
}

let bob: string;

const { upstream, gateway } = scriptedStage(
  (baseUrl) => ({
    ...upstreamAt(baseUrl),
    embeddedModels: true,
    models: [modelAt("far", "far", "embedded-chat")],
    responses: { keepMs: 3_600_000, maxPerAccount: 100, maxBytes: 4096 },
  }),
  { clock: () => now, script: (exchange) => exchange.json(200, chatAnswer({ content: "It is 42." })) },
);

beforeAll(async () => {
  bob = (await openAccount(gateway)).apiKey;
});

async function ask<T>(path: string, body?: JsonObject, apiKey = gateway.apiKey): Promise<{ status: number; body: T }> {
  const response = await fetch(gateway.baseUrl + path, {
    method: body ? "POST" : "GET",
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  return { status: response.status, body: (await response.json()) as T };
}

const model = "embedded-chat";
const create = async (more: JsonObject) =>
  (await ask<{ id: string; output: Item[] }>("/responses", { model, ...more })).body;
const list = (id: string, query = "", apiKey?: string) =>
  ask<Page>(`/responses/${id}/input_items${query}`, undefined, apiKey);
const textsOf = ({ data }: Page) =>
  data.map(({ content }) => (content as { text: string }[] | undefined)?.map(({ text }) => text).join("") ?? "");

describe("the input of a response", () => {
  test("is listed with ids and types, its texts as parts", async () => {
    const { id } = await create({ input: "say: one" });
    const { status, body } = await list(id);
    expect(status).toBe(200);
    const [item] = body.data;
    expect(body).toEqual({
      object: "list",
      data: [
        {
          id: expect.stringMatching(/^msg_\w+_in0$/),
          type: "message",
          status: "completed",
          role: "user",
          content: [{ type: "input_text", text: "say: one" }],
        },
      ],
      first_id: item?.id,
      last_id: item?.id,
      has_more: false,
    });
  });

  test("is newest first unless asked otherwise, and has what the response went on from", async () => {
    const first = await create({ input: "say: one" });
    const second = await create({
      input: [
        { role: "user", content: "two a" },
        { role: "user", content: [{ type: "input_text", text: "say: two b" }] },
      ],
      previous_response_id: first.id,
    });
    const newest = (await list(second.id)).body;
    expect(textsOf(newest)).toEqual(["say: two b", "two a", "one", "say: one"]);
    const oldest = (await list(second.id, "?order=asc")).body;
    expect(oldest.data).toEqual(newest.data.toReversed());
    expect(oldest.data[1]?.id).toBe(first.output[0]?.id);
  });

  test("is paged by ids from either end, also through OpenAI's own client", async () => {
    const input = Array.from({ length: 30 }, (_, i) => ({ role: "user", content: `say: part ${i}` }));
    const { id } = await create({ input });
    const first = (await list(id)).body;
    expect([first.data.length, first.has_more]).toEqual([20, true]);
    const rest = (await list(id, `?after=${first.last_id}`)).body;
    expect([rest.data.length, rest.has_more]).toEqual([10, false]);
    const ids = [...first.data, ...rest.data].map((item) => item.id);
    expect(new Set(ids).size).toBe(30);
    const before = (await list(id, `?before=${rest.first_id}&limit=5`)).body;
    expect(before.data).toEqual(first.data.slice(-5));
    expect(before.has_more).toBe(true);
    const between = (await list(id, `?after=${ids[3]}&before=${ids[6]}`)).body;
    expect(between.data.map((item) => item.id)).toEqual(ids.slice(4, 6));
    const client = new OpenAI({ baseURL: gateway.baseUrl, apiKey: gateway.apiKey });
    const seen: (string | undefined)[] = [];
    for await (const item of client.responses.inputItems.list(id, { limit: 7 }))
      seen.push((item as unknown as Item).id);
    expect(seen).toEqual(ids);
  });

  test("ends a page early where its items are long", async () => {
    const { id } = await create({
      input: [
        { role: "user", content: "x".repeat(3000) },
        { role: "user", content: "say: y" },
      ],
    });
    expect((await list(id, "?limit=1")).body.has_more).toBe(true);
  });

  test("is referred to by the ids that it is listed by", async () => {
    const { id } = await create({ input: "Remember 42." });
    const [item] = (await list(id)).body.data;
    const next = await create({
      model: "far",
      input: [
        { type: "item_reference", id: item?.id ?? "" },
        { role: "user", content: "Which?" },
      ],
    });
    expect(next.output).toHaveLength(1);
    expect(upstream.received.at(-1)?.body.toString()).toContain("Remember 42.");
  });

  test("shows what reasoning hides only to who asks for it", async () => {
    const reasoning = { type: "reasoning", id: "rs_own", summary: [], encrypted_content: "gAAAA" };
    const { id } = await create({ input: [reasoning, { role: "user", content: "say: x" }] });
    const shown = (await list(id, "?order=asc&include[]=reasoning.encrypted_content")).body.data[0];
    expect(shown).toEqual(reasoning);
    const { encrypted_content, ...rest } = reasoning;
    expect((await list(id, "?order=asc")).body.data[0]).toEqual(rest);
  });

  test("is its account's alone, and of nobody once it is not kept", async () => {
    const kept = await create({ input: "say: mine" });
    const unkept = await create({ input: "say: gone", store: false });
    const large = await create({ input: `say: short ${"word ".repeat(1000)}` });
    for (const [id, apiKey] of [[kept.id, bob], [unkept.id], ["resp_none"], [large.id]] as const) {
      expect((await list(id, "", apiKey)).status, id).toBe(404);
    }
  });

  test.for([
    ["?limit=0", "limit"],
    ["?limit=101", "limit"],
    ["?order=up", "order"],
    ["?after=msg_none", "after"],
    ["?before=msg_none", "before"],
  ] as const)("refuses %s", async ([query, param]) => {
    const { id } = await create({ input: "say: x" });
    const { status, body } = await list(id, query);
    expect([status, body.error?.param]).toEqual([400, param]);
  });

  test("is listed over gRPC, and without /v1", async () => {
    const { id } = await create({ input: "say: rpc" });
    const client = createClient(InferenceService, createGrpcTransport({ baseUrl: gateway.rootUrl, binaryOptions }));
    const headers = { authorization: `Bearer ${gateway.apiKey}` };
    const listed = await client.listResponseInputItems({ id }, { headers });
    const response = await fetch(`${gateway.rootUrl}/responses/${id}/input_items`, { headers });
    expect(listed.data.map((item) => item.id)).toEqual(((await response.json()) as Page).data.map((item) => item.id));
    expect(listed.hasMore).toBe(false);
  });
});

describe("the tokens of a request for a response", () => {
  const count = (body: JsonObject, apiKey?: string) =>
    ask<{ object: string; input_tokens: number; error?: { param: string } }>("/responses/input_tokens", body, apiKey);

  test("are counted, with instructions, tools and all before, and no model is asked", async () => {
    const received = upstream.received.length;
    const plain = await count({ model: "far", input: "Hello there, how are you?" });
    expect(plain).toEqual({ status: 200, body: { object: "response.input_tokens", input_tokens: expect.any(Number) } });
    const tools = [
      { type: "function", name: "f", description: "Finds it.", parameters: { type: "object", properties: {} } },
    ];
    const more = await count({ model: "far", input: "Hello there, how are you?", instructions: "Be brief.", tools });
    expect(more.body.input_tokens).toBeGreaterThan(plain.body.input_tokens + 10);
    expect(upstream.received.length).toBe(received);
    const { id } = await create({ input: `say: short. ${"many words ".repeat(50)}` });
    const after = await count({ model, input: "And?", previous_response_id: id });
    expect(after.body.input_tokens).toBeGreaterThan(100);
  });

  test("are counted for no model at all, and for who is long", async () => {
    expect((await count({ input: "Hello" })).status).toBe(200);
    const long = await count({ model, input: "word ".repeat(200_000) });
    expect(long.body.input_tokens).toBeGreaterThan(200_000);
  });

  test("cost nothing, and have a rate of their own", async () => {
    const paid = await openAccount(gateway, { recharge: 0 });
    const statuses: number[] = [];
    for (let i = 0; i < 65; i++) statuses.push((await count({ model, input: "Hello" }, paid.apiKey)).status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(60);
    expect(new Set(statuses)).toEqual(new Set([200, 429]));
    expect((await ask("/models", undefined, paid.apiKey)).status).toBe(200);
  });

  test("are refused for what would be refused", async () => {
    expect((await count({ model: "nobody", input: "Hello" })).status).toBe(404);
    expect((await count({ model, input: "x", previous_response_id: "resp_none" })).status).toBe(400);
    expect((await count({ model, input: "x", conversation: "conv_1" })).body.error?.param).toBe("conversation");
    expect((await count({ model, input: 5 as never })).status).toBe(400);
  });

  test("are counted alike over gRPC and by OpenAI's own client", async () => {
    const { body } = await count({ model, input: "Hello there" });
    const client = createClient(InferenceService, createGrpcTransport({ baseUrl: gateway.rootUrl, binaryOptions }));
    const asked = { model, input: { case: "inputText", value: "Hello there" } } as const;
    const told = await client.countResponseTokens(asked, { headers: { authorization: `Bearer ${gateway.apiKey}` } });
    expect(told.inputTokens).toBe(body.input_tokens);
    const openai = new OpenAI({ baseURL: gateway.baseUrl, apiKey: gateway.apiKey });
    expect((await openai.responses.inputTokens.count({ model, input: "Hello there" })).input_tokens).toBe(
      body.input_tokens,
    );
  });
});
