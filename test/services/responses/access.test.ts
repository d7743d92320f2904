/**
 * Whose responses are, through every door that there is to them; and what a connection or a background call comes to that is left at
 * any moment.
 */
import { describe, expect, test } from "vitest";
import { Outcome } from "../../../gen/modelgateway/v1/usage_pb.ts";
import type { JsonObject } from "../../../src/wire/json.ts";
import { openSocket } from "../../support/clients/response-sockets.ts";
import { eventually } from "../../support/eventually.ts";
import { now } from "../../support/gateway.ts";
import { openAccount, outcomeOf, type Payer } from "../../support/payer.ts";
import { eventStream } from "../../support/scripted-upstream.ts";
import { cost, paidModel } from "../../support/upstreams/paid-models.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import { anthropicFrames, outputMessage, respond, responseAnswer, responseEvents } from "../../support/vendors.ts";

// biome-ignore lint/suspicious/noExplicitAny: what the gateway says is looked into as it came.
type Any = any;

const { upstream, gateway, books } = scriptedStage((base_url) => {
  const profile = { operations: { chat: "/chat/completions", responses: "/responses" } };
  const far = { name: "far", kind: "openai", base_url, profile } as const;
  return {
    embeddedModels: false,
    upstreams: [far],
    models: ["thinker", "secret"].map((id) => paidModel(id, "far", { max_output_tokens: 1000 })),
  };
});

const response = responseAnswer([outputMessage("Hello there, you")]);
const events = responseEvents(response);
const paid = 5 * cost.input + 4 * cost.cacheRead + 5 * cost.output;
/** content is the first event with output of the model. */
const content = events.findIndex(({ type }) => type === "response.output_text.delta");

async function ask({ apiKey }: Pick<Payer, "apiKey">, method: string, path: string, body?: JsonObject) {
  const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
  const init = { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) };
  const answer = await fetch(`${gateway.baseUrl}/responses${path}`, init);
  return { status: answer.status, body: (await answer.json()) as Any };
}

const socketOf = ({ apiKey }: Payer) => openSocket({ port: gateway.port, apiKey });

const standing = (payer: Payer) => outcomeOf(books, payer);

describe("another account's response", () => {
  test("is not there, through any door", async () => {
    upstream.script = (exchange) => respond(exchange, response);
    const [owner, other] = [await openAccount(gateway), await openAccount(gateway)];
    const { body: front } = await ask(owner, "POST", "", { model: "thinker", input: "hi" });
    const { body: behind } = await ask(owner, "POST", "", { model: "thinker", input: "hi", background: true });
    await eventually(async () => expect((await ask(owner, "GET", `/${behind.id}`)).body.status).toBe("completed"));
    for (const { id } of [front, behind]) {
      for (const [method, path] of [
        ["GET", ""],
        ["GET", "?stream=true"],
        ["GET", "/input_items"],
        ["POST", "/cancel"],
        ["DELETE", ""],
      ] as const) {
        expect([method, path, (await ask(other, method, `/${id}${path}`)).status]).toEqual([method, path, 404]);
      }
    }
    const before = upstream.received.length;
    const socket = await socketOf(other);
    const reference = { type: "item_reference", id: front.output[0].id };
    for (const body of [{ previous_response_id: front.id, input: "and?" }, { input: [reference] }]) {
      expect((await ask(other, "POST", "", { model: "thinker", ...body })).status).toBeGreaterThanOrEqual(400);
      expect((await ask(other, "POST", "", { model: "thinker", ...body, background: true })).status).not.toBe(200);
      const [told] = await socket.ask({ model: "thinker", ...body });
      expect([told?.type, told?.error?.message]).toEqual(["error", expect.stringContaining("not found")]);
    }
    await socket.close();
    expect(upstream.received.length).toBe(before);
    expect(await standing(other)).toEqual({ spent: 0, holds: 0, held: 0, outcomes: [] });
    expect((await ask(owner, "GET", `/${front.id}`)).status).toBe(200);
  });
});

test("a key may ask no other model through a new door", async () => {
  const key = await openAccount(gateway, { models: ["thinker"] });
  const socket = await socketOf(key);
  expect((await socket.ask({ model: "secret", input: "hi" }))[0]?.status).toBe(403);
  await socket.close();
  for (const [path, more] of [
    ["", { background: true }],
    ["/compact", {}],
    ["/input_tokens", {}],
  ] as const) {
    expect((await ask(key, "POST", path, { model: "secret", input: "hi", ...more })).status).toBe(403);
  }
});

describe("a connection that is open asks anew for each response whether", () => {
  test("its key is valid", async () => {
    upstream.script = (exchange) => respond(exchange, response);
    const payer = await openAccount(gateway);
    const socket = await socketOf(payer);
    expect((await socket.ask({ model: "thinker", input: "hi" })).at(-1)?.type).toBe("response.completed");
    await gateway.storage.keys.revoke(payer.keyId, now);
    expect((await socket.ask({ model: "thinker", input: "hi" }))[0]).toMatchObject({ type: "error", status: 401 });
    await socket.close();
    expect(await standing(payer)).toMatchObject({ spent: paid, outcomes: [Outcome.ANSWERED] });
  });

  test("there is credit", async () => {
    upstream.script = (exchange) => respond(exchange, response);
    const asked = { model: "thinker", input: "hi", max_output_tokens: 100 };
    const payer = await openAccount(gateway, { recharge: 2000 });
    const socket = await socketOf(payer);
    const ends: unknown[] = [];
    for (let turn = 0; turn < 12; turn++) ends.push((await socket.ask(asked)).at(-1)?.status ?? 200);
    await socket.close();
    const { spent, holds } = await standing(payer);
    expect([ends[0], ends.at(-1), holds]).toEqual([200, 402, 0]);
    expect(spent).toBe(paid * ends.filter((status) => status === 200).length);
    expect(spent).toBeLessThanOrEqual(2000);
  });
});

describe("left at any moment, a call is charged once, and for what was told of it", () => {
  const moments = events.map((_, told) => told);

  /** upTo makes the upstream send a number of events, and returns a function that sends the rest. */
  async function upTo(told: number, isHeard: () => Promise<unknown>) {
    const exchange = await upstream.next();
    exchange.head(200, eventStream);
    await exchange.write(told === 0 ? ": here\n\n" : anthropicFrames(...events.slice(0, told)));
    if (told > content) await isHeard();
    return async () => {
      if (told <= content) await exchange.left;
      else exchange.end(anthropicFrames(...events.slice(told)));
    };
  }
  const expected = (told: number) => ({
    ...{ spent: told > content ? paid : 0, holds: 0, held: 0 },
    outcomes: [Outcome.LEFT],
  });

  test.each(moments)("by a WebSocket that is cut, after %s events", async (told) => {
    const payer = await openAccount(gateway);
    const socket = await socketOf(payer);
    socket.send({ type: "response.create", model: "thinker", input: "hi" });
    const goOn = await upTo(told, async () => {
      while ((await socket.next()).type !== "response.output_text.delta");
    });
    socket.ws.terminate();
    if (told > content) await eventually(() => expect(gateway.counts().drains).toBe(1));
    await goOn();
    await eventually(async () => expect(await standing(payer)).toEqual(expected(told)));
  });

  test.each(moments)("by who cancels it in the background, after %s events", async (told) => {
    const payer = await openAccount(gateway);
    const { body } = await ask(payer, "POST", "", { model: "thinker", input: "hi", background: true });
    const goOn = await upTo(told, () =>
      eventually(async () => expect((await ask(payer, "GET", `/${body.id}`)).body.status).toBe("in_progress")),
    );
    expect((await ask(payer, "POST", `/${body.id}/cancel`)).body.status).toBe("cancelled");
    await goOn();
    await eventually(async () => expect(await standing(payer)).toEqual(expected(told)));
    expect((await ask(payer, "GET", `/${body.id}`)).body.status).toBe("cancelled");
  });
});
